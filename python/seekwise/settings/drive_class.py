"""Which scheduler for this class of drive: one sentence without measuring, from evidence that ships, and the command that measures."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import ClassVar

from seekwise.linux.block_device import BlockDevice
from seekwise.linux.describe import KIND_NAMES, TRANSPORT_NAMES
from seekwise.report.explain import caps
from seekwise.settings.special import instead_of_evidence

PURPOSES = {"responsive": "responsive while busy", "throughput": "most work done"}


@dataclass(frozen=True)
class ClassEvidence:
    """What is known of a class. Made by tools/drive_classes.py."""

    drive_class: str
    model: str
    uses: str
    provenance: str
    model_version: int
    headline: str
    setting: str
    purposes: dict[str, str]


def evidence() -> dict[str, ClassEvidence]:
    """By class."""
    text = (files("seekwise.settings") / "drive_classes.json").read_text(encoding="utf-8")
    return {name: ClassEvidence(name, **each) for name, each in json.loads(text).items()}


def class_of(device: BlockDevice) -> str | None:
    """`hard disk`, `SATA SSD`, `NVMe SSD`; None of what another machine, a hypervisor or a controller schedules behind the device."""
    if isinstance(device.details.get("controller"), dict):
        return None
    if device.kind == "nvme" and device.transport == "nvme":
        return "NVMe SSD"
    if device.kind == "disk" and device.transport in ("sata", "ata", "sas"):
        return "hard disk" if device.rotational else "SATA SSD"
    return None


def sentence(device: BlockDevice, target: str) -> str:
    """What suits such a drive, how sure that is, and what measures it here."""
    name = class_of(device)
    measure = f"`sudo seekwise tune {target}` measures it here"
    known = evidence().get(name or "")
    if known is None:
        what = KIND_NAMES.get(device.kind) or TRANSPORT_NAMES.get(device.transport or device.kind) or device.kind
        said = instead_of_evidence(device) or "what is behind it decides"
        return f"{device.name} ({what}): {said}. By the mechanism alone, not by figures: no evidence ships for this class; {measure}."
    now = f"{device.scheduler} is in force" if device.scheduler else "no scheduler is in force"
    wants = dict.fromkeys(known.purposes.values())
    if len(wants) > 1:
        said = ", ".join(f"{each} for {PURPOSES[name]}" for name, each in known.purposes.items())
    else:
        said = known.setting
    return (
        f"{device.name} ({name}): {said}; {now}. Weak evidence: {known.provenance} for one model of the class ({known.model}, "
        f"model_version {known.model_version}), not measured on this drive; {measure}."
    )


def lock_caps(device: BlockDevice) -> list[str]:
    """Where the locks of the schedulers that it offers cap a drive of its class; empty of others than NVMe."""
    if class_of(device) != "NVMe SSD":
        return []
    known = caps.newest()
    return [said for name in device.schedulers_offered if (said := caps.sentence(name, known))]


@dataclass(frozen=True)
class ClassAdvice:
    """What suits the class of one drive; nulls where no evidence ships."""

    device: str
    class_: str | None
    scheduler: str | None
    sentence: str
    caps: list[str]
    purposes: dict[str, str] = field(default_factory=dict)
    setting: str | None = None
    provenance: str | None = None
    model: str | None = None
    headline: str | None = None


@dataclass(frozen=True)
class ClassAdvices:
    """`advise --device PATH --json`."""

    SCHEMA: ClassVar = "seekwise.advice-class/1"

    drives: list[ClassAdvice]


def advice(device: BlockDevice, target: str) -> ClassAdvice:
    """What suits a drive by its class. `target`: as it was named."""
    name = class_of(device)
    made = ClassAdvice(device.name, name, device.scheduler, sentence(device, target), lock_caps(device))
    if (known := evidence().get(name or "")) is None:
        return made
    return replace(
        made, **{each: getattr(known, each) for each in ("purposes", "setting", "provenance", "model", "headline")}
    )
