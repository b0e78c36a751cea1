"""The version, everywhere it stands: `python packaging/set_version.py 0.2.0`.

python packaging/set_version.py 0.2.0               Cargo.toml, from which the wheels take it, and the pins on the product
python packaging/set_version.py --check 0.2.0       is everything ready: tree clean, changelog written, no such tag yet
python packaging/set_version.py --notes 0.2.0       the release's page: what the changelog says of it, how to install and check it
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VERSION = re.compile(r"(\d+\.\d+\.\d+)(?:\.dev(\d+))?")


def of_cargo(version: str) -> str:
    """`0.2.0.dev0` as Cargo writes it: `0.2.0-dev.0`."""
    return version.replace(".dev", "-dev.")


def set_everywhere(version: str, root: Path = ROOT) -> None:
    """Writes the version into the files that state it."""
    for name, pattern, stated in (
        ("Cargo.toml", r'(?m)^version = ".*"', f'version = "{of_cargo(version)}"'),
        ("proof/pyproject.toml", r"seekwise==[^\"]+", f"seekwise=={version}"),
        ("papers/pyproject.toml", r"seekwise==[^\"]+", f"seekwise=={version}"),
        ("papers/pyproject.toml", r'(?m)^version = ".*"', f'version = "{version}"'),
        ("packaging/recipes/PKGBUILD", r"(?m)^pkgver=.*$", f"pkgver={version}"),
        ("packaging/recipes/default.nix", r'(?m)^  version = ".*"', f'  version = "{version}"'),
        ("packaging/recipes/seekwise.spec", r"(?m)^%global pypi_version .*$", f"%global pypi_version {version}"),
        (
            "packaging/recipes/seekwise.spec",
            r"(?m)^Version:        .*$",
            f"Version:        {version.replace('.dev', '~dev')}",
        ),
    ):
        path = root / name
        text, count = re.subn(pattern, stated, path.read_text(encoding="utf-8"), count=1)
        if count != 1:
            sys.exit(f"error: {name} has no {pattern}")
        path.write_text(text, encoding="utf-8")
    if ".dev" not in version:
        log = root / "CHANGELOG.md"
        text = log.read_text(encoding="utf-8").replace(f"## {version} (not yet released)\n", f"## {version}\n")
        log.write_text(text, encoding="utf-8")


INSTALLING = """\
## Install

    pipx install seekwise-{version}-*manylinux*_x86_64.whl      # Python 3.11 to 3.14, glibc 2.17; aarch64 and musl: wheels of their own
    sudo apt install ./seekwise_{version}~deb13_amd64.deb       # Debian 13; ~deb12 for Debian 12
    pipx install seekwise-{version}.tar.gz                      # any other: needs Rust 1.85 and a C compiler, fetches no crates

Check first: `sha256sum --check --ignore-missing SHA256SUMS`. Each wheel holds a list of its crates (CycloneDX) and NOTICE.
"""


def notes(version: str) -> str:
    """A release's page, of one screen."""
    found = re.search(
        rf"(?ms)^## {re.escape(version)}\b.*?(?=^## |\Z)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    )
    if found is None:
        sys.exit(f"error: CHANGELOG.md has no section `## {version}`")
    rest = found[0].partition("\n")[2]
    return f"# Seekwise {version}\n\n{rest.strip()}\n\n{INSTALLING.format(version=version)}"


def check(version: str) -> None:
    """Before anything is changed: ends with one line where the release cannot be made."""
    said = {
        name: subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        for name, words in (("tree", ("status", "--porcelain")), ("tag", ("tag", "--list", f"v{version}")))
    }
    if said["tree"]:
        sys.exit(f"error: the tree is not clean: commit or remove first:\n{said['tree']}")
    if said["tag"]:
        sys.exit(f"error: the tag v{version} exists")
    notes(version)


if __name__ == "__main__":
    *option, stated = sys.argv[1:]
    if VERSION.fullmatch(stated) is None:
        sys.exit(f"error: '{stated}' is no version like 0.2.0 or 0.3.0.dev0: make release VERSION=0.2.0")
    if option == ["--check"]:
        check(stated)
    elif option:
        sys.stdout.write(notes(stated))
    else:
        set_everywhere(stated)
        # The lock file names the crates of the workspace with their version.
        subprocess.run(["cargo", "metadata", "--format-version", "1"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
