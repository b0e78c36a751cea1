"""The purposes that a run of `tune` answers for. Everything that names them (options, hints, explanations, answers)
takes them from here."""

from __future__ import annotations

from typing import Literal

Purpose = Literal["responsive", "throughput"]
PURPOSES: dict[Purpose, str] = {
    "responsive": "programs that someone waits for while the disk is busy",
    "throughput": "most work done",
}
OPTION = " or ".join(PURPOSES)
"""As the help of `--for` names them."""
HOW = f"`seekwise tune PATH` measures for both; `seekwise advise last --for {next(iter(PURPOSES))}` then asks for one"
