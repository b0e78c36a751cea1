"""A drive of DiskSim's library as the text of a model file."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seekwise.trace.disksim.drive import DiskSimDrive


def document(drive: DiskSimDrive) -> str:
    """TOML as `crates/device/src/model.rs` reads it."""
    parts = drive.extracted
    lines = [
        f"id = {json.dumps(drive.id)}",
        f"name = {json.dumps(drive.name)}",
        'kind = "extracted"',
        f"notes = {json.dumps(list(drive.notes))}",
        "",
        "[extracted]",
        f"queue_depth = {parts['queue_depth']}",
        "",
    ]
    for table in ("mechanics", "buffer", "overhead", "bus"):
        lines += [f"[extracted.{table}]", *_assignments(parts[table]), ""]
    layout = dict(parts["layout"])
    zones = layout.pop("zones")
    lines += ["[extracted.layout]", *_assignments(layout), ""]
    for zone in zones:
        lines += ["[[extracted.layout.zones]]", *_assignments(zone), ""]
    return "\n".join(lines)


def _assignments(values: dict[str, Any]) -> list[str]:
    # JSON's spelling of numbers, strings, booleans and lists of them is TOML's.
    return [f"{key} = {json.dumps(value)}" for key, value in values.items()]
