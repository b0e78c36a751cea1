"""What drives report of themselves: `smartctl --json`, where smartmontools is installed and we may ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seekwise.settings.doctor.check import DoctorFinding, Machine, Severity

NAME = "drive-health"

ATTRIBUTES = {
    # Attributes whose raw value counts sectors or errors (smartctl(8)); any is a reason to look, none of them costs
    # speed as such.
    5: "reallocated sectors",
    187: "uncorrectable errors reported",
    197: "pending sectors",
    198: "sectors that cannot be read",
}
CABLE = 199
CABLE_MIN = 100
"""A handful of interface errors happens while plugging."""
NVME_WARNINGS = (
    "spare capacity is low",
    "temperature is beyond a limit",
    "reliability is degraded",
    "the medium is read-only",
    "the backup of the write cache has failed",
    "the persistent memory region is unreliable",
)
"""Bits of the critical warning field (NVM Express base specification 1.4, SMART log page 02h)."""


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Drives that report failing health, worn flash or pending sectors."""
    for device in machine.drives():
        document = machine.smart.get(device.name)
        if document:
            yield from _passed(device.name, document)
            yield from _ata(device.name, document)
            yield from _nvme(device.name, document)
            yield from _scsi(device.name, document)


def _passed(name: str, document: dict[str, Any]) -> Iterator[DoctorFinding]:
    if (document.get("smart_status") or {}).get("passed") is False:
        yield _finding(name, f"{name} says of itself that it is failing", ("smartctl -H: FAILED",))


def _ata(name: str, document: dict[str, Any]) -> Iterator[DoctorFinding]:
    for row in (document.get("ata_smart_attributes") or {}).get("table", ()):
        number, raw = row.get("id"), (row.get("raw") or {}).get("value", 0)
        # Seagate packs several counters into one raw value: only the low 32 bits count.
        count = counted(raw) & 0xFFFFFFFF
        if row.get("when_failed") == "now":
            yield _finding(name, f"{name}: attribute {row.get('name')} is below its threshold", (_attribute_text(row),))
        elif number in ATTRIBUTES and count:
            yield _finding(
                name,
                f"{name} has {count} {ATTRIBUTES[number]}",
                (_attribute_text(row),),
                "look" if number == 5 else "wrong",
            )
        elif number == CABLE and count >= CABLE_MIN:
            yield _finding(name, f"{name} has seen {count} errors on its cable", (_attribute_text(row),), "look")


def _nvme(name: str, document: dict[str, Any]) -> Iterator[DoctorFinding]:
    log = document.get("nvme_smart_health_information_log") or {}
    warning = counted(log.get("critical_warning"))
    for bit, words in enumerate(NVME_WARNINGS):
        if warning >> bit & 1:
            yield _finding(name, f"{name}: {words}", (f"critical_warning = 0x{warning:02x}",))
    used = counted(log.get("percentage_used"))
    if used >= 100:
        yield _finding(name, f"{name} has used {used} % of its rated life", (f"percentage_used = {used}",), "look")
    if errors := counted(log.get("media_errors")):
        yield _finding(name, f"{name} has had {errors} media errors", (f"media_errors = {errors}",))


def _scsi(name: str, document: dict[str, Any]) -> Iterator[DoctorFinding]:
    """SAS drives: the grown defect list, error counter pages and the endurance indicator (SPC-4, SBC-3; keys of
    smartctl 7.3)."""
    if defects := counted(document.get("scsi_grown_defect_list")):
        text = f"{name} has {defects} grown defects (sectors that it has replaced)"
        yield _finding(name, text, (f"scsi_grown_defect_list = {defects}",), "look")
    log = document.get("scsi_error_counter_log")
    for kind in ("read", "write", "verify"):
        page = log.get(kind) if isinstance(log, dict) else None
        errors = counted(page.get("total_uncorrected_errors")) if isinstance(page, dict) else 0
        if errors:
            text = f"{name} could not correct {errors} errors of kind {kind}"
            yield _finding(name, text, (f"scsi_error_counter_log.{kind}.total_uncorrected_errors = {errors}",))
    used = counted(document.get("scsi_percentage_used_endurance_indicator"))
    if used >= 100:
        text = f"{name} has used {used} % of its rated life"
        yield _finding(name, text, (f"scsi_percentage_used_endurance_indicator = {used}",), "look")


def counted(value: object) -> int:
    """A counter of a report; 0 where the report holds something else."""
    try:
        return int(value) if isinstance(value, int | float | str) else 0
    except (ValueError, OverflowError):
        return 0


def _attribute_text(row: dict[str, Any]) -> str:
    return f"smartctl: {row.get('id')} {row.get('name')} raw {(row.get('raw') or {}).get('string', (row.get('raw') or {}).get('value'))}"


def _finding(name: str, text: str, evidence: tuple[str, ...], severity: Severity = "wrong") -> DoctorFinding:
    mend = (f"smartctl -x /dev/{name}", f"smartctl -t long /dev/{name}")
    return DoctorFinding(
        NAME, (name,), severity, text, evidence, mend, "retries take up to seconds each; the drive may fail"
    )
