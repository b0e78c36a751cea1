"""The source distribution: dist/seekwise-VERSION.tar.gz, which builds without network, from the crates that it brings.

    python packaging/sdist.py WHEEL OUT

maturin's own leaves out `models/` and cuts the workspace so that the lock file fits no more. This one has the product's crates without their
tests, a lock file of what is left (the same versions), every crate of others below `vendor/`, and the metadata of the WHEEL. Same sources
and SOURCE_DATE_EPOCH, same bytes.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KEPT = ("ARCHITECTURE.md", "CHANGELOG.md", "Cargo.lock", "Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "NOTICE", "README.md", "SECURITY.md",
        "crates", "docs/assets/answer.svg", "models", "packaging/build_backend.py", "packaging/index.md", "pyproject.toml", "python")  # fmt: skip
TESTS = re.compile(r"^crates/\w+/(tests|benches|examples|proptest-regressions)/")
OF_TESTS = ("[dev-dependencies]", "[[test]]", "[[bench]]", "[[example]]")
VENDORED = """
[source.crates-io]
replace-with = "vendored-sources"

[source.vendored-sources]
directory = "vendor"
"""


def without_tests(manifest: str) -> str:
    """A crate's Cargo.toml without the tables that only its tests need."""
    return "".join(each for each in re.split(r"(?m)^(?=\[)", manifest) if not each.startswith(OF_TESTS))


def lay_out(folder: Path) -> None:
    """The sources in FOLDER, as they are in the archive."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *KEPT], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        if TESTS.match(name):
            continue
        data = (ROOT / name).read_bytes()
        if re.fullmatch(r"crates/\w+/Cargo\.toml", name):
            data = without_tests(data.decode()).encode()
        if name == "Cargo.toml":
            text = re.sub(r"(?m)^members = .*$", 'members = ["crates/*"]', data.decode())
            data = re.sub(r'(?m)^.*path = "proof/.*\n', "", text).encode()
        if name == "pyproject.toml":
            data = data.decode().replace("[tool.maturin]\n", "[tool.maturin]\nlocked = true\n").encode()
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    # Drops what the tests needed; every other version stays.
    subprocess.run(["cargo", "metadata", "--format-version", "1"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        ["cargo", "vendor", "--quiet", "--locked", "vendor"], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    (folder / ".cargo").mkdir()
    (folder / ".cargo/config.toml").write_text(VENDORED.lstrip(), encoding="utf-8")


def packed(folder: Path, name: str, out: Path) -> Path:
    """FOLDER as OUT/NAME.tar.gz: sorted, of nobody, of one time."""
    time = int(os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True).stdout)  # fmt: skip
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            member = tarfile.TarInfo(f"{name}/{path.relative_to(folder)}")
            member.size, member.mtime, member.mode = (
                path.stat().st_size,
                time,
                0o755 if os.access(path, os.X_OK) else 0o644,
            )
            with path.open("rb") as content:
                archive.addfile(member, content)
    target = out / f"{name}.tar.gz"
    target.parent.mkdir(parents=True, exist_ok=True)
    with (
        target.open("wb") as file,
        gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=9, mtime=time) as packing,
    ):
        packing.write(whole.getvalue())
    return target


def main(wheel: Path, out: Path) -> None:
    """Prints the file that it made."""
    name = "-".join(wheel.name.split("-")[:2])
    with tempfile.TemporaryDirectory() as made, zipfile.ZipFile(wheel) as archive:
        folder = Path(made) / name
        folder.mkdir()
        lay_out(folder)
        (folder / "PKG-INFO").write_bytes(archive.read(f"{name}.dist-info/METADATA"))
        print(packed(folder, name, out))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
