"""Whose work the packages contain: NOTICE fits the lock file, Debian's copyright names every file, and a licence that nobody has read is an error."""

import fnmatch
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "packaging"))
import notice

BROUGHT = """\
Whole text.

----
Name: OpenBLAS
Files: numpy.libs/libscipy_openblas*.so
Description: bundled as a dynamically linked library
Availability: https://example.org/
License: BSD-3-Clause
  Copyright (c) 2011-2014, The OpenBLAS Project

Name: libquadmath
Files: numpy.libs/libquadmath*.so
Description: bundled as a dynamically linked library
Availability: https://example.org/
License: LGPL-2.1-or-later
"""


def installed(
    folder: Path, name: str, files: tuple[str, ...], stated: str, text: str = "Copyright (c) 2020 Somebody\n"
) -> None:
    """A library as `pip install --target` leaves it."""
    info = f"{name.lower().replace('-', '_')}-1.0.dist-info"
    for each in (*files, f"{info}/METADATA", f"{info}/licenses/LICENSE"):
        (folder / each).parent.mkdir(parents=True, exist_ok=True)
        (folder / each).touch()
    (folder / info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.0\n{stated}\n\n")
    (folder / info / "licenses/LICENSE").write_text(text)
    (folder / info / "RECORD").write_text(
        "".join(f"{each},,\n" for each in (*files, "../../bin/tool", f"{info}/METADATA", f"{info}/licenses/LICENSE"))
    )


def unnamed(folder: Path, copyright_: str) -> list[str]:
    """Files of FOLDER that no paragraph of the copyright file but the package's own names."""
    patterns = [line.split()[-1] for line in copyright_.splitlines() if line.startswith(("Files: usr/", " usr/"))]
    names = [f"usr/lib/seekwise/{each.relative_to(folder)}" for each in folder.rglob("*") if each.is_file()]
    return [each for each in names if not any(fnmatch.fnmatchcase(each, pattern) for pattern in patterns)]


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo to read the lock file with")
def test_notice_is_of_the_crates_that_the_lock_file_names():
    assert (ROOT / "NOTICE").read_text(encoding="utf-8") == notice.notice(), "make notice"


def test_a_crate_whose_licence_nobody_has_read_is_an_error(monkeypatch, tmp_path):
    crate = {"name": "new", "version": "1.0.0", "license": "MIT AND SSPL-1.0", "authors": ["A"], "repository": "",
             "manifest_path": str(tmp_path / "Cargo.toml")}  # fmt: skip
    monkeypatch.setattr(notice, "crates", lambda: [crate])
    with pytest.raises(SystemExit, match=r"read these licences first.*new 1\.0\.0: SSPL-1\.0"):
        notice.notice()


def test_the_copyright_file_names_what_a_library_is_installed_as(tmp_path):
    """Jinja2's folder is `jinja2`, that of markdown-it-py `markdown_it`; NumPy brings shared libraries in a folder beside its own."""
    installed(tmp_path, "Jinja2", ("jinja2/__init__.py",), "Classifier: License :: OSI Approved :: BSD License")
    installed(tmp_path, "markdown-it-py", ("markdown_it/a/b.py",), "License: MIT License")
    installed(tmp_path, "typing_extensions", ("typing_extensions.py",), "License-Expression: PSF-2.0")
    installed(
        tmp_path, "numpy", ("numpy/a.py", "numpy.libs/libopenblas.so"), "License-Expression: BSD-3-Clause", BROUGHT
    )
    text = notice.debian(tmp_path)
    assert not unnamed(tmp_path, text)
    assert "with OpenBLAS (BSD-3-Clause), libquadmath (LGPL-2.1-or-later)" in text
    # Debian has the whole text once, for all packages.
    assert "END OF TERMS AND CONDITIONS" in (ROOT / "NOTICE").read_text(encoding="utf-8")
    assert "END OF TERMS AND CONDITIONS" not in text and "/usr/share/common-licenses/Apache-2.0" in text


@pytest.mark.parametrize(
    ("stated", "text"),
    [
        ("License-Expression: AGPL-3.0-only", ""),
        ("License: a long story", ""),
        ("License-Expression: MIT", BROUGHT.replace("LGPL-2.1-or-later", "SSPL-1.0")),
    ],
)
def test_a_library_whose_licence_nobody_has_read_is_an_error(stated, text, tmp_path):
    installed(tmp_path, "new", ("new/__init__.py",), stated, text)
    with pytest.raises(SystemExit, match="read these licences first.*new 1.0"):
        notice.debian(tmp_path)
