"""The product's wheel, built and installed alone in a fresh environment: it holds nothing of the others, and what README shows works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.words.test_docs import commands

ROOT = Path(__file__).parents[2]
ALLOWED = {"click", "pydantic", "numpy", "rich", "jinja2", "backports"}
"""Each with its sentence in ARCHITECTURE.md; of `backports.zstd` the first part."""
OF_OTHERS = rb"proof/crates/\w+|seekwise_(?:proof|papers|replay|validate|drive)\b"
ARTICLE = ("article-2008", "ssd-raid10", "nvme-page", "tiobench-comparison")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo to build the wheel with"),
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built with the objects that `make install` left in target/."""
    out = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "maturin", "build", "--release", "--quiet", "--out", str(out)], cwd=ROOT, check=True
    )
    (path,) = out.glob("seekwise-*.whl")
    return path


def test_it_holds_no_code_of_the_proof_and_no_article(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"seekwise"}
        assert not [name for name in names if any(article in name for article in ARTICLE)]
        found = {
            hit.decode() for name in names if name.endswith(".so") for hit in re.findall(OF_OTHERS, archive.read(name))
        }
        assert not found, found
        metadata = next(archive.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
    needed = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra ==)", metadata, re.MULTILINE)
    assert needed and set(needed) <= ALLOWED
    reasons = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("\n## Dependencies\n")[2].lower()
    assert not [name for name in needed if not re.search(rf"^\|[^|]*\b{name}\b", reasons, re.MULTILINE)]


def test_what_readme_shows_works_with_it_alone(wheel: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    pip = [str(tmp_path / "venv/bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, str(wheel)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the libraries that it needs cannot be fetched: {done.stderr.strip().splitlines()[-1]}")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SEEKWISE"))}
    environment |= {"HOME": str(tmp_path), "PATH": f"{tmp_path / 'venv/bin'}:{environment['PATH']}"}

    def run(line: str, status: int = 0) -> str:
        found = subprocess.run(
            ["sh", "-c", f"seekwise {line}"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert found.returncode == status, f"{line}: {found.stdout}{found.stderr}"
        return found.stdout + found.stderr

    typed = [line for line in commands(ROOT / "README.md") if not line.startswith(("tune /srv", "apply", "doctor"))]
    assert {"run raid-levels", 'tune model:"Samsung 980 PRO"'} <= set(typed)
    shown = {line: run(line) for line in typed}
    assert "RAID 10 of 4" in shown["run raid-levels"]
    assert "seekwise-proof" in run("verify vectors x", status=2)
    assert "seekwise-proof" in run("run schedulers --backend lab", status=4)
    assert "no study at article-2008" in run("run article-2008", status=2)
