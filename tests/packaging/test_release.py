"""A release: its version is written wherever it stands, and its page fits a screen."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
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


FOLDERS = (ROOT, ROOT / "proof", ROOT / "papers")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_distribution_has_a_page_for_an_index(folder):
    readme = tomllib.loads((folder / "pyproject.toml").read_text())["project"]["readme"]
    text = (folder / readme).read_text() if isinstance(readme, str) else readme["text"]
    assert "`seekwise" in text or "    seekwise" in text


def test_pages_name_no_package_that_is_not_made():
    made = {tomllib.loads((folder / "pyproject.toml").read_text())["project"]["name"] for folder in FOLDERS}
    made |= {path.name for path in (ROOT / "packaging/systemd").iterdir()}
    pages = [*ROOT.glob("*.md"), *ROOT.glob("packaging/*.md"), *ROOT.glob("docs/**/*.md")]
    named = {
        name
        for page in pages
        if page.name != "CHANGELOG.md"
        for name in re.findall(r"`(seekwise-[a-z.-]+)`", page.read_text(encoding="utf-8"))
    }
    assert named and named <= made


@pytest.fixture
def clone(tree, tmp_path):
    """What `make release` needs, committed; packages and NOTICE are made by stand-ins."""
    shutil.copy(ROOT / "packaging/set_version.py", tree / "packaging/set_version.py")
    makefile = (ROOT / "Makefile").read_text()
    for rule, instead in (("notice", ":"), ("packages", "mkdir -p dist && env > dist/environment && test ! -e fails")):
        makefile, count = re.subn(rf"(?m)^{rule}:.*\n(\t.*\n)+", f"{rule}:\n\t@{instead}\n", makefile)
        assert count == 1
    (tree / "Makefile").write_text(makefile)
    (tree / ".gitignore").write_text("/dist/\n/cargo\n")
    cargo = tree / "cargo"
    cargo.write_text("#!/bin/sh\n")
    cargo.chmod(0o755)
    git(tree, "init", "--quiet", "--initial-branch=main")
    commit(tree)
    return tree


def git(tree, *words):
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", *who, *words], cwd=tree, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(tree):
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "First")


def release(tree, version):
    named = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {key: value for key, value in os.environ.items() if key not in ("SOURCE_DATE_EPOCH", "MAKEFLAGS")}
    environment |= {**named, "PATH": f"{tree}:{environment['PATH']}", "GIT_CONFIG_GLOBAL": os.devnull}
    words = ["make", "--no-print-directory", f"PYTHON={sys.executable}", "release", f"VERSION={version}"]
    return subprocess.run(words, cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=120)


def test_a_release_is_one_command_and_takes_its_time_from_its_commit(clone):
    done = release(clone, "7.8.9")
    assert done.returncode == 0, done.stderr
    assert git(clone, "log", "--format=%s").splitlines() == ["Release 7.8.9", "First"]
    assert git(clone, "rev-list", "-1", "v7.8.9") == git(clone, "rev-parse", "HEAD")
    assert git(clone, "status", "--porcelain") == ""
    assert 'version = "7.8.9"' in (clone / "Cargo.toml").read_text()
    assert (clone / "dist/NOTES.md").read_text().startswith("# Seekwise 7.8.9\n\n- First.\n")
    made = dict(line.split("=", 1) for line in (clone / "dist/environment").read_text().splitlines() if "=" in line)
    assert made["SOURCE_DATE_EPOCH"] == git(clone, "log", "-1", "--format=%ct")
    assert {each.split("-")[0] for each in made["TARGETS"].split()} == {"x86_64", "aarch64"}


@pytest.mark.parametrize(
    ("version", "before", "said"),
    [
        ("", "", "'' is no version like 0.2.0"),
        ("7.8", "", "'7.8' is no version like 0.2.0"),
        ("7.8.9", "echo >> Cargo.toml", "the tree is not clean: commit or remove first:\nM Cargo.toml"),
        ("7.8.9", "echo > new", "the tree is not clean: commit or remove first:\n?? new"),
        ("9.9.9", "", "CHANGELOG.md has no section `## 9.9.9`"),
        ("7.8.9", "git tag v7.8.9", "the tag v7.8.9 exists"),
    ],
)
def test_what_is_not_ready_is_said_before_anything_is_changed(clone, version, before, said):
    subprocess.run(["sh", "-c", before], cwd=clone, check=True)
    state = git(clone, "status", "--porcelain")
    done = release(clone, version)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {said}"), done.stderr
    assert git(clone, "status", "--porcelain") == state and git(clone, "log", "--format=%s") == "First"


def test_what_could_not_be_built_gets_no_tag(clone):
    (clone / "fails").touch()
    commit(clone)
    assert release(clone, "7.8.9").returncode == 2
    assert git(clone, "tag", "--list") == ""
