"""This test will add a scheduler as the map promises, by one file and one row, and find it in `run`, `explain`, `verify` and charts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.installed import needs_proof

ROOT = Path(__file__).parents[2]
FIFO_2 = {
    "Noop": "Fifo2",
    '"noop"': '"fifo-2"',
    "first come, first served; merges only": "first come, first served, once more",
    "#000000": "#123456",
}
STUDY = """
name = "fifo"
question = "Does it run?"
backend = "simulated"

[[system]]
name = "disk"
drive = "wd2500ys"
kernel = "2.6.32"

[settings]
scheduler = ["fifo-2", "noop"]

[[workload]]
operations = ["rand_read"]
threads = [4]
block_bytes = "4k"
size = "64m"
runtime = "1s"

[design]
blocks = 2
"""


def copied(folder: Path, *names: str) -> Path:
    """The sources without what was built, as old as they are: cargo builds again what differs from the last time."""
    for name in names:
        shutil.rmtree(folder / name, ignore_errors=True)
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.so", "target"))
    return folder


@needs_proof
@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo to build a scratch copy with")
def test_a_scheduler_is_one_file_and_one_row(tmp_path: Path) -> None:
    # Kept between runs of this test. What a few small runs need is simulated without optimisation before that would be compiled.
    scratch = ROOT / "target" / "scratch"
    copy = copied(scratch / "sources", "crates", "models", "proof/crates")
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy2(ROOT / name, copy)
    python, proof = copied(tmp_path, "python", "proof") / "python", tmp_path / "proof"
    sources = copy / "crates" / "sched" / "src"
    text = (sources / "noop.rs").read_text()
    for old, new in FIFO_2.items():
        assert old in text
        text = text.replace(old, new)
    (sources / "fifo_2.rs").write_text(text)
    rows = (sources / "lib.rs").read_text()
    (sources / "lib.rs").write_text(rows.replace("    noop::Noop,\n", "    noop::Noop,\n    fifo_2::Fifo2,\n"))
    target = scratch / "target"
    quickly = {"CARGO_TARGET_DIR": str(target), "CARGO_PROFILE_DEV_OPT_LEVEL": "0", "CARGO_PROFILE_DEV_DEBUG": "0"}
    subprocess.run(
        ["cargo", "build", "--quiet", "--package", "seekwise-pyext", "--package", "seekwise-proof-pyext"],
        cwd=copy,
        env=os.environ | quickly,
        check=True,
        timeout=3000,
    )
    shutil.copy(target / "debug" / "lib_core.so", python / "seekwise" / "_core.abi3.so")
    shutil.copy(target / "debug" / "lib_proof.so", proof / "seekwise_proof" / "_proof.abi3.so")

    def seekwise(*words: str) -> str:
        code = "import sys; from seekwise.cli.main import main; sys.argv[0] = 'seekwise'; main()"
        return subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=tmp_path,
            env=os.environ
            | {"PYTHONPATH": f"{python}:{proof}", "SEEKWISE_STATE": str(tmp_path / "state"), "NO_COLOR": "1"}
            | {"SEEKWISE_DB": str(tmp_path / "records.db")},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    (tmp_path / "study.toml").write_text(STUDY)
    outcome = seekwise("run", "study.toml", "--json")
    assert "fifo-2" in outcome
    assert "first come, first served, once more" in seekwise("explain", "fifo-2")
    # What recorded noop decided, the same policy under another name decides.
    vectors = tmp_path / "vectors"
    recorded = sorted((ROOT / "tests" / "vectors" / "noop").glob("2.6.32*"))[:6]
    assert recorded
    (vectors / "fifo-2").mkdir(parents=True)
    for path in recorded:
        shutil.copy(path, vectors / "fifo-2")
    shutil.copytree(ROOT / "tests" / "vectors" / "requests", vectors / "requests")
    report = json.loads(seekwise("verify", "vectors", str(vectors / "fifo-2"), "--json"))
    assert report["passed"] == report["total"] > 0
    page = tmp_path / "page.html"
    seekwise("report", "last", "--output", str(page))
    assert "#123456" in page.read_text()
