"""A page in Markdown to hand in with a change: what, why, risk, undo."""

from __future__ import annotations

from collections.abc import Sequence

from seekwise.report.of_run import Report

SETS = "No data is moved and no service restarts. A setting can make other work slower than what was measured."
CREATES = "`mdadm --create` makes a new array: what its drives hold is lost, and so is what the array holds when that is undone. It can be slower under other work."


def text(report: Report) -> str:
    """Of a run whose advice can be set, how it is set, checked and undone; of another, that nothing is to be changed."""
    advice = report.content.advice
    command = report.sets(report.run.run_id)
    lines = [command] if command else advice.set_lines
    cautions = [*advice.caution, *report.notes()]
    undo = ["sudo seekwise revert"] if command else advice.undo_lines
    parts = [
        "# Change of storage settings",
        report.headline(),
        "## What",
        _lines("    ", lines) or "Nothing: leave what is in force.",
        "## Why",
        _lines("- ", report.reasons()),
        f"{report.title[0].upper()}{report.title[1:]}.",
        "## Risk",
        CREATES if any("mdadm --create" in line for line in lines) else SETS,
        _lines("- ", cautions),
        "## Undo",
        _lines("    ", undo) or "Nothing to undo.",
        "Afterwards `seekwise status` says what is in force and who set it.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _lines(before: str, lines: Sequence[str]) -> str:
    return "\n".join(f"{before}{line}" for line in lines)
