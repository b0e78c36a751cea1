"""The recipes for RPM, Arch and Nix, looked at by those systems' own checkers, as far as Debian has them (namcap, an Arch package's, it has not)."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

RECIPES = Path(__file__).parents[2] / "packaging" / "recipes"
ACCEPTED = {"no-buildroot-tag", "invalid-url"}
"""What rpmlint may say: rpm has needed no BuildRoot since 4.6; the sources lie beside the recipe as long as there is no public place for them."""


def said(*words: str, status: int = 0, **kinds: object) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, **kinds)  # type: ignore[call-overload]
    assert done.returncode == status, done.stdout + done.stderr
    return str(done.stdout)


def without(tmp_path: Path, name: str, line: str, instead: str) -> Path:
    """A recipe with one fault."""
    text = (RECIPES / name).read_text(encoding="utf-8")
    assert line in text
    path = tmp_path / name
    path.write_text(text.replace(line, instead), encoding="utf-8")
    return path


@pytest.mark.skipif(None in map(shutil.which, ("rpmlint", "rpm")), reason="needs rpmlint and rpm")
def test_rpmlint_has_nothing_new_to_say(tmp_path):
    shown = said("rpmlint", str(RECIPES / "seekwise.spec"))
    assert set(re.findall(r"^seekwise\.spec:(?:\d+:)? [EW]: ([\w-]+)", shown, re.MULTILINE)) <= ACCEPTED, shown
    wrong = without(tmp_path, "seekwise.spec", "%build\n", "")
    assert "W: no-%build-section" in said("rpmlint", str(wrong))


@pytest.mark.skipif(shutil.which("makepkg") is None, reason="needs makepkg")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makepkg is run as a user without any rights")
@pytest.mark.parametrize(("line", "instead", "status"), [("", "", 0), ("pkgrel=1", "pkgrel=x", 12)])
def test_makepkg_reads_the_recipe_for_arch(line, instead, status, tmp_path):
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PACMAN": "true"}
    # makepkg refuses root, and another user enters no temporary folder of root's.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        shutil.copy(without(tmp_path, "PKGBUILD", line, instead) if line else RECIPES / "PKGBUILD", folder)
        os.chown(folder, 65534, 65534)
        shown = said("makepkg", "--printsrcinfo", status=status, cwd=folder, env=environment, user=65534, group=65534)
    assert status or "pkgname = seekwise" in shown


@pytest.mark.skipif(shutil.which("nix-instantiate") is None, reason="needs nix-bin")
def test_nix_reads_the_recipe(tmp_path):
    said("nix-instantiate", "--parse", str(RECIPES / "default.nix"))
    said("nix-instantiate", "--parse", str(without(tmp_path, "default.nix", "rec {", "rec ")), status=1)
