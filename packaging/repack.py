"""The collector's wheel, made from the whole one: `python packaging/repack.py WHEEL OUT`.

The collector has the same modules without charts, and requires only `NEEDS`. RECORD is written anew.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

COLLECTOR = "seekwise-collector"
NEEDS = ("click", "rich", "pydantic")
LEFT_OUT = ("report/charts/", "report/templates/")
"""Folders below seekwise/ that only the whole package needs."""
Member = tuple[zipfile.ZipInfo, bytes]


def collector(wheel: Path, out: Path) -> Path:
    """The collector's wheel of a whole one."""
    match = re.fullmatch(r"seekwise-([^-]+)-(.+)\.whl", wheel.name)
    if match is None:
        raise SystemExit(f"error: {wheel} is no wheel of seekwise")
    version, tags = match.groups()
    old = f"seekwise-{version}"
    new = f"{COLLECTOR.replace('-', '_')}-{version}"
    members = []
    for info, data in _members(wheel):
        path = info.filename
        if any(path.startswith(f"seekwise/{folder}") for folder in LEFT_OUT):
            continue
        if path == f"{old}.dist-info/METADATA":
            data = _metadata(data.decode()).encode()
        info.filename = re.sub(rf"^{re.escape(old)}\.(dist-info|data)/", rf"{new}.\1/", path)
        members.append((info, data))
    return _write(out / f"{new}-{tags}.whl", f"{new}.dist-info", members)


def _members(wheel: Path) -> Iterator[Member]:
    """Every file but RECORD."""
    with zipfile.ZipFile(wheel) as source:
        for info in source.infolist():
            if not info.filename.endswith(".dist-info/RECORD"):
                yield info, source.read(info)


def _write(target: Path, info_folder: str, members: list[Member]) -> Path:
    records = []
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        for info, data in members:
            info.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(info, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            records.append(f"{info.filename},sha256={digest},{len(data)}")
        made.writestr(f"{info_folder}/RECORD", "\n".join([*records, f"{info_folder}/RECORD,,", ""]))
    return target


def _metadata(text: str) -> str:
    """The name changed, requirements that the collector does not have and extras taken out."""
    head, blank, body = text.partition("\n\n")
    lines = []
    for line in head.splitlines():
        required = re.match(r"Requires-Dist: ([\w-]+)", line)
        if line.startswith("Name:"):
            lines.append(f"Name: {COLLECTOR}")
        elif required:
            lines += [line] if required[1] in NEEDS and "extra ==" not in line else []
        elif not line.startswith("Provides-Extra:"):
            lines.append(line)
    return "\n".join(lines) + blank + body


if __name__ == "__main__":
    print(collector(*map(Path, sys.argv[1:])))
