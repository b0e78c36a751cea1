"""Which scheduler for this drive, by its class: one sentence without measuring, from evidence that ships, and the
command that measures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from seekwise import invocation
from seekwise.linux.block_device import BlockDevice
from seekwise.report.device_words import medium
from seekwise.report.explain import caps
from seekwise.settings import classes
from seekwise.settings.special import MEMORY, ZFS_MEMBER, instead_of_evidence


def class_of(device: BlockDevice) -> str | None:
    """Name of its class; None of what a controller hides, and of host-managed zones, which want more than an order."""
    if device.details.get("zoned") == "host-managed":
        return None
    name = classes.class_of(device)
    return None if name is None else name.name


def sentence(device: BlockDevice, target: str, *, of_zfs: bool = False) -> str:
    """What suits such a drive, how sure that is, and what measures it here. `of_zfs`: ZFS schedules above it."""
    name, special = (None, ZFS_MEMBER) if of_zfs else (class_of(device), instead_of_evidence(device))
    measure = f"`{invocation.line(f'sudo seekwise tune {target}')}` measures it here"
    if not device.queue:
        return f"{device.name} ({medium(device)}): its queue is not known here, so neither is its class; {measure}."
    if name is None:
        what = medium(device)
        said = special or "what is behind it decides"
        return f"{device.name} ({what}): {said}. This follows from how it works, not from figures: no evidence ships for this class{'' if device.kind in MEMORY or of_zfs else f'; {measure}'}."
    answer = classes.choice(name)
    now = f"{device.scheduler} is in force" if device.scheduler else "no scheduler is in force"
    known = classes.bases(answer.evidence)
    if not known:
        return f"{device.name} ({name}): {now}. {answer.why[0].upper()}{answer.why[1:]}; {measure}."
    shown = medium(device) if special and name == "virtio disk" else name
    said = f"{device.name} ({shown}): {_order(device, answer, target)}. {answer.why[0].upper()}{answer.why[1:]}."
    if answer.responsive:
        said += f" Busy desktops may prefer {answer.responsive}: {answer.responsive_price}."
    if special:
        said += f" {special[0].upper()}{special[1:]}."
    return f"{said} {answer.sure.capitalize()} evidence ({known}), nothing of it from this drive; {measure}."


def _order(device: BlockDevice, answer: classes.ClassChoice, target: str) -> str:
    """Whether to set it or leave it, with the line that sets it."""
    keeps = answer.scheduler == classes.KEPT
    wanted = answer.kernel_default if keeps else tuple(answer.scheduler.split(" / "))
    if device.scheduler is None:
        return f"leave it to {' or '.join(wanted)}"
    if device.scheduler in wanted:
        return f"leave {device.scheduler}, {'the kernel default' if keeps else 'which is in force'}"
    if not (offered := [name for name in wanted if name in device.schedulers_offered]):
        return f"set {' or '.join(wanted)}, which this kernel does not offer here; {device.scheduler} is in force"
    line = invocation.line(f"sudo seekwise apply --device {target} --set scheduler={offered[0]}")
    return f"set {offered[0]}{', the kernel default' if keeps else ''}: `{line}`; {device.scheduler} is in force"


def lock_caps(device: BlockDevice) -> list[str]:
    """Where the locks of the schedulers that it offers cap a drive of its class; empty of others than NVMe."""
    if class_of(device) != "NVMe SSD":
        return []
    return [said for name in device.schedulers_offered if (said := caps.sentence(name))]


@dataclass(frozen=True)
class ClassAdvice:
    """What suits the class of one drive; nulls where no evidence ships."""

    device: str
    class_: str | None
    scheduler: str | None
    sentence: str
    caps: list[str]
    choice: classes.ClassChoice | None = None


@dataclass(frozen=True)
class ClassAdvices:
    """`advise --device PATH --json`."""

    SCHEMA: ClassVar = "seekwise.advice-class/2"

    drives: list[ClassAdvice]


def advice(device: BlockDevice, target: str, *, of_zfs: bool = False) -> ClassAdvice:
    """What suits a drive by its class. `target`: as it was named."""
    name = None if of_zfs else class_of(device)
    told = sentence(device, target, of_zfs=of_zfs)
    said = ClassAdvice(device.name, name, device.scheduler, told, lock_caps(device))
    return said if name is None else replace(said, choice=classes.choice(name))
