"""RAID mapping against recordings of real md arrays (validation level 2).

`passed` of `total`: for RAID 0, 1 and 10 each remapped piece (member, direction, sector, size); for RAID 5 and 6 each
member page of a window, pages that only the model has counting as missed. `ordered`: rows whose pages went out in the
recorded order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from seekwise_proof import _proof
from seekwise_proof.validate._basis import Count, marking
from seekwise_proof.validate.frame import FileReport, ValidationReport, unread, unreadable

# Required by the ladder: pages that differ, and order within a row.
SHARE_PASSED = 0.99
SHARE_ORDERED = 0.95


SUMMARY = "RAID mapping against recordings of real md arrays"


@dataclass(kw_only=True)
class MappingFile(FileReport):
    """Recordings of one array."""

    ordered: Count
    """Rows whose pages went out in the recorded order."""


@dataclass(kw_only=True)
class Mapping(ValidationReport):
    """`verify mapping --json`."""

    SCHEMA: ClassVar = "seekwise.validate.mapping/1"

    files: Sequence[MappingFile | FileReport]
    ordered: Count
    """Rows whose pages went out in the recorded order."""


def verify(paths: Sequence[Path], options: dict[str, Any]) -> Mapping:
    """Recordings as files or folders (searched for CSV files of arrays with their `.conf`)."""
    outcome = json.loads(_proof.verify_mapping([str(path) for path in paths if path.exists()]))
    files: list[MappingFile | FileReport] = [_file(entry) for entry in outcome["files"]]
    files += [unreadable(path, "no such file or folder") for path in paths if not path.exists()]
    passed, total = sum(f.passed for f in files), sum(f.total for f in files)
    ordered = Count(**outcome["ordered"])
    met = total > 0 and passed >= SHARE_PASSED * total and ordered.passed >= SHARE_ORDERED * ordered.total
    met = met and not any(file.passed == 0 for file in files)
    required = f"{100 * SHARE_PASSED:.0f} % of the pages, {100 * SHARE_ORDERED:.0f} % of the rows in order"
    return Mapping(files=files, required=required, met=met, ordered=ordered)


def _file(entry: dict[str, Any]) -> MappingFile:
    name, passed, total = entry["file"], entry["passed"], entry["total"]
    shares = unread(name, total) if entry["broken"] else marking(Path(name)).whole(passed, total)
    return MappingFile(**{**entry, "ordered": Count(**entry["ordered"])}, shares=shares)
