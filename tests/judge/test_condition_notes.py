"""States the conditions of a run that a reader has to know."""

from __future__ import annotations

import dataclasses

from report.sample import sample_records
from seekwise.report.outcome import condition_notes


def noted(**conditions: object) -> list[str]:
    return condition_notes([dataclasses.replace(sample_records(repetitions=1)[0], conditions=conditions)])


def test_flash_is_said_to_be_in_its_used_state():
    assert noted(flash_in_used_state=["nvme0n1"]) == [
        "Used state: nvme0n1 was neither purged nor preconditioned; a fresh drive can be faster"
    ]


def test_a_disk_in_quiet_conditions_needs_no_note():
    assert noted(flash_in_used_state=[], others={"quiet": True}) == []


def test_a_system_that_shares_the_tested_drives_is_said_to_disturb():
    (note,) = noted(os_shares_drives=True)
    assert "The running system lives on the tested drives" in note
