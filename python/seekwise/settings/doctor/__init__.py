"""What is plainly wrong with the storage of a machine, found without load: one module per check.

A check is a module with `NAME` and `check(machine)`, which yields findings; add it to `CHECKS`. A finding needs
evidence that can be looked up (a file and its value), and says how to mend it. What may be meant so is `look`, not
`wrong`.
"""

from __future__ import annotations

from seekwise.settings.doctor import (
    absurd_read_ahead,
    alignment,
    array_state,
    bfq_on_nvme,
    device_state,
    dirty_limits,
    discards,
    firmware_raid,
    io_limits,
    kernel_fault,
    large_requests,
    members,
    mount_options,
    ncq,
    no_effect,
    none_on_disk,
    queue_depth,
    read_ahead,
    request_flags,
    small_read_ahead,
    smart,
    swap,
    temperature,
    throttling,
    throttling_off,
    write_cache,
    zoned,
)
from seekwise.settings.doctor.check import DoctorFinding, Machine

CHECKS = (
    kernel_fault,
    array_state,
    device_state,
    smart,
    temperature,
    alignment,
    write_cache,
    mount_options,
    members,
    none_on_disk,
    no_effect,
    dirty_limits,
    swap,
    throttling_off,
    io_limits,
    bfq_on_nvme,
    throttling,
    ncq,
    queue_depth,
    read_ahead,
    small_read_ahead,
    absurd_read_ahead,
    large_requests,
    request_flags,
    discards,
    firmware_raid,
    zoned,
)


def examine(machine: Machine) -> tuple[DoctorFinding, ...]:
    """Findings of every check, what is wrong before what is worth a look."""
    findings = [finding for check in CHECKS for finding in check.check(machine)]
    return tuple(sorted(findings, key=lambda finding: finding.severity != "wrong"))
