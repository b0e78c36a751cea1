"""A release: its version is written wherever it stands, and its page fits a screen."""

import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import set_version

STATED = ("Cargo.toml", "proof/pyproject.toml", "papers/pyproject.toml", "packaging/recipes/PKGBUILD", "packaging/recipes/default.nix",
          "packaging/recipes/seekwise.spec", "CHANGELOG.md")  # fmt: skip


@pytest.fixture
def tree(tmp_path):
    for name in STATED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 7.8.9 (not yet released)\n\n- First.\n\n## 7.8.8\n\n- Old.\n"
    )
    return tmp_path


def test_the_version_is_written_wherever_it_stands(tree):
    before = {name: (tree / name).read_text() for name in STATED}
    set_version.set_everywhere("7.8.9", tree)
    assert {name for name in STATED if "7.8.9" not in (tree / name).read_text()} == set()
    assert "not yet released" not in (tree / "CHANGELOG.md").read_text()
    set_version.set_everywhere("0.2.0.dev0", tree)
    for name in set(STATED) - {"CHANGELOG.md"}:
        assert (tree / name).read_text() == before[name]


def test_the_page_of_the_next_release_fits_a_screen():
    page = set_version.notes("0.2.0")
    assert page.startswith("# Seekwise 0.2.0\n")
    assert len(page.splitlines()) <= 24
    for kind in (".whl", ".deb", ".tar.gz", "SHA256SUMS"):
        assert kind in page


def test_a_version_without_its_section_is_an_error():
    with pytest.raises(SystemExit, match="no section"):
        set_version.notes("99.0.0")
