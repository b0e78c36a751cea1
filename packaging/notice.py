"""Whose work the packages contain, from the lock file and from the wheels that are brought.

    python packaging/notice.py > NOTICE                  crates that are compiled into the product and the proof
    python packaging/notice.py --wheels FOLDER           Debian's copyright file of NOTICE and of the libraries installed in FOLDER

A licence that is not among `ALLOWED` is an error: somebody has to read it first.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ALLOWED = {"MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "Zlib", "0BSD", "Unlicense", "Unicode-3.0", "PSF-2.0", "BSL-1.0", "CC0-1.0",
           "GPL-3.0-or-later WITH GCC-exception-3.1", "Apache-2.0 WITH LLVM-exception", "BSD-3-Clause-Open-MPI",
           # libquadmath beside NumPy: a shared library that can be replaced, and its text comes with it.
           "LGPL-2.1-or-later"}  # fmt: skip
TEXTS = re.compile(r"(?i)(licen[sc]e|copying|notice|unlicense)")
CLASSIFIED = {
    "MIT License": "MIT", "BSD License": "BSD-3-Clause", "Apache Software License": "Apache-2.0",
    "Python Software Foundation License": "PSF-2.0", "BSD 3-Clause License": "BSD-3-Clause", "BSD-3-Clause license": "BSD-3-Clause",
}  # fmt: skip
"""Words of older METADATA for what SPDX calls otherwise."""
BROUGHT = re.compile(r"(?m)^Name: (.*)\n(?:(?:Files|Description|Availability|  ).*\n)*License: (.*)$")
"""A shared library that a wheel brings along, as its licence file states it (NumPy: OpenBLAS, LAPACK, libgfortran, libquadmath)."""


def unknown(expression: str) -> list[str]:
    """Licences of an SPDX expression that are not allowed: of alternatives one is enough."""
    found = []
    for part in re.split(r"\s+AND\s+", expression.replace("(", "").replace(")", "").replace("/", " OR ")):
        if not any(each.strip() in ALLOWED for each in re.split(r"\s+OR\s+", part)):
            found.append(part)
    return found


def crates() -> list[dict[str, Any]]:
    """The crates of others that are compiled into the extensions, on Linux, sorted by name."""
    words = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    metadata = json.loads(done.stdout)
    packages = {each["id"]: each for each in metadata["packages"]}
    nodes = {each["id"]: each for each in metadata["resolve"]["nodes"]}
    left = [each for each, package in packages.items() if package["name"] in ("seekwise-pyext", "seekwise-proof-pyext")]
    seen = set()
    while left:
        at = left.pop()
        # Macros run in the compiler, with all that they need; nothing of them is in the product.
        if at not in seen and not any("proc-macro" in target["kind"] for target in packages[at]["targets"]):
            seen.add(at)
            left += [dep["pkg"] for dep in nodes[at]["deps"] if any(kind["kind"] is None for kind in dep["dep_kinds"])]
    return sorted(
        (packages[each] for each in seen if packages[each]["source"]), key=lambda each: (each["name"], each["version"])
    )


def texts(folder: Path) -> list[str]:
    """The licence files of a folder."""
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in sorted(folder.iterdir())
            if path.is_file() and TEXTS.match(path.name)]  # fmt: skip


def notice() -> str:
    """NOTICE."""
    parts = [
        "Seekwise contains, compiled into its extensions, the Rust standard library (MIT OR Apache-2.0) and the following crates.\n"
    ]
    shared: dict[str, list[str]] = {}
    refused = []
    for crate in crates():
        name = f"{crate['name']} {crate['version']}"
        refused += [f"{name}: {each}" for each in unknown(crate["license"] or "no licence stated")]
        authors = (
            ", ".join(re.sub(r"\s*<[^>]*>", "", each) for each in crate["authors"])
            or f"its authors ({crate['repository']})"
        )
        parts.append(f"{name}: {crate['license']}; {authors}")
        for text in texts(Path(crate["manifest_path"]).parent):
            shared.setdefault(text, []).append(name)
    if refused:
        sys.exit("error: read these licences first, then add them to packaging/notice.py: " + "; ".join(refused))
    for text, names in shared.items():
        parts.append(f"\n{'-' * 79}\n{', '.join(names)}\n\n{text}")
    return "\n".join(parts) + "\n"


def libraries(folder: Path) -> list[tuple[str, str, list[str], str]]:
    """(name and version, licence, what of FOLDER is its, licence texts) of each Python library that is installed in FOLDER."""
    found, refused = [], []
    for info in sorted(folder.glob("*.dist-info")):
        about = HeaderParser().parsestr((info / "METADATA").read_text(encoding="utf-8"))
        name = f"{about['Name']} {about['Version']}"
        if about["Name"] == "seekwise":
            continue
        classes = [
            each.rpartition(" :: ")[2] for each in about.get_all("Classifier", []) if each.startswith("License ::")
        ]
        stated = about["License-Expression"] or next(
            (CLASSIFIED[each] for each in (*classes, about["License"] or "") if each in CLASSIFIED),
            about["License"] or "none",
        )
        stated = stated.splitlines()[0]
        files = sorted(each for each in info.rglob("*") if each.is_file() and TEXTS.search(each.name))
        text = "\n\n".join(each.read_text(encoding="utf-8", errors="replace") for each in files)
        brought = BROUGHT.findall(text)
        refused += [f"{name}: {each}" for part in (stated, *(part for _, part in brought)) for each in unknown(part)]
        # Its folders and modules are named by RECORD alone: Jinja2 is `jinja2`, markdown-it-py is `markdown_it`.
        recorded = {
            line.split(",")[0].split("/")[0] for line in (info / "RECORD").read_text(encoding="utf-8").splitlines()
        }
        tops = [f"{each}/*" if (folder / each).is_dir() else each
                for each in sorted(recorded - {"..", "bin", "__pycache__"}) if (folder / each).exists()]  # fmt: skip
        found.append(
            (
                name,
                stated + (", with " if brought else "") + ", ".join(f"{who} ({part})" for who, part in brought),
                tops,
                text,
            )
        )
    if refused:
        sys.exit("error: read these licences first, then add them to packaging/notice.py: " + "; ".join(refused))
    return found


def debian(folder: Path) -> str:
    """Debian's copyright file: ours, then each library with its licence, then every licence text once."""
    parts = [(ROOT / "packaging/debian/copyright").read_text(encoding="utf-8").rstrip()]
    for number, (name, stated, tops, text) in enumerate(libraries(folder), start=1):
        holders = sorted(
            {line.strip() for line in text.splitlines() if re.match(r"(?i)\s*(copyright|©|\(c\))\s*(\(c\)|©|\d)", line)}
        )
        short = f"{stated.partition(', with ')[0].replace(' ', '-')}-{number}"
        parts.append("\nFiles: " + "\n ".join(f"usr/lib/seekwise/{each}" for each in tops))
        parts.append(f"Copyright: {chr(10).join('  ' + each for each in holders).strip() or 'its authors'}\nLicense: {short}\n"
                     f"Comment: {name}, {stated}")  # fmt: skip
        parts.append(f"\nLicense: {short}\n{_indented(text or stated)}")
    parts.append(f"\nLicense: crates\n{_indented((ROOT / 'NOTICE').read_text(encoding='utf-8'))}")
    return "\n".join(parts) + "\n"


COMMON = {
    "Apache-2.0": re.compile(r"(?s)\s*Apache License\s+Version 2\.0, January 2004.*?END OF TERMS AND CONDITIONS"),
    "GPL-3": re.compile(r"(?s)\s*GNU GENERAL PUBLIC LICENSE\s+Version 3, 29 June 2007.*?END OF TERMS AND CONDITIONS"),
}
"""Licences whose whole text every Debian has."""


def _indented(text: str) -> str:
    for name, whole in COMMON.items():
        text = whole.sub(f"\nOn Debian systems the full text is in /usr/share/common-licenses/{name}.", text)
    return "\n".join(f" {line.rstrip()}" if line.strip() else " ." for line in text.strip().splitlines())


if __name__ == "__main__":
    sys.stdout.write(debian(Path(sys.argv[2])) if sys.argv[1:2] == ["--wheels"] else notice())
