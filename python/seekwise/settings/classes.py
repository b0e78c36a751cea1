"""Which scheduler to ship for every machine: a choice for each class of drive, the evidence that ships, and the udev
rule that says the same.

drive_classes.json (tools/drive_classes.py) holds values and where they come from, no conclusions. Each source (a model,
a machine) is judged by itself, and the choice is for one of them at random: how much drives of a class differ is part
of how sure it is.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar, Literal

from seekwise.grouping import grouped
from seekwise.judge.decision.choose import CAP_LOG, STARVED_FACTOR, Choice
from seekwise.judge.decision.records import ADDED_LOG, Decided, with_choices
from seekwise.judge.decision.table import Conditions, UseFigure, Values
from seekwise.judge.decision.verdicts import Judged, judge, of_any
from seekwise.judge.model_error import model_error
from seekwise.linux.block_device import BlockDevice
from seekwise.number_text import by, listed
from seekwise.settings.special import is_virtual
from seekwise.workload.study.uses import LIMITS

Sure = Literal["fair", "weak", "mechanism"]
SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
KEPT = "kernel default"
"""What is shipped where nothing is better than that on any machine of the class."""
REAL = ("measured", "published", "testbed")
LOST_MUCH = 0.10
"""An answer that may cost more is weak, whatever it rests on."""
LABEL = "seekwise_scheduler_end"
JUMP = f'GOTO="{LABEL}"'


@dataclass(frozen=True)
class DriveClass:
    """Drives that a rule can tell from others."""

    name: str
    match: str
    """Of a udev rule, after the classes before it."""
    defaults: tuple[tuple[str, str], ...]
    """(scheduler, further match): what the kernel gives such a drive by itself (Linux block/elevator.c,
    elevator_get_default: mq-deadline with one hardware queue, none with several)."""
    instead: str = ""
    """What can be said where no figure can exist."""


MANY_QUEUES, ONE_QUEUE = 'TEST=="mq/1"', 'TEST!="mq/1"'
CLASSES = (
    DriveClass(
        "device-mapper",
        'KERNEL=="dm-*|md*"',
        (),
        "a map sorts nothing: bio-based maps and md arrays have no queue to schedule (Linux drivers/md), the drives below them do",
    ),
    DriveClass("virtio disk", 'SUBSYSTEMS=="virtio|vmbus|xen"', (("mq-deadline", ONE_QUEUE), ("none", MANY_QUEUES))),
    DriveClass("USB drive", 'SUBSYSTEMS=="usb"', (("mq-deadline", ""),)),
    DriveClass("SD card or eMMC", 'KERNEL=="mmcblk*"', (("mq-deadline", ""),)),
    DriveClass("NVMe SSD", 'KERNEL=="nvme*"', (("none", ""),)),
    DriveClass("SATA SSD", 'KERNEL=="sd*", ATTR{queue/rotational}=="0"', (("mq-deadline", ""),)),
    DriveClass("hard disk", 'KERNEL=="sd*", ATTR{queue/rotational}=="1"', (("mq-deadline", ""),)),
)
"""In the order of the rules: what a line before it has taken does not reach the next one."""
SHOWN = tuple(reversed(CLASSES))
NOT_ASKED = 'DRIVERS=="megaraid_sas|aacraid|smartpqi|hpsa|3w-*"'
"""Volumes of RAID controllers look like disks, and no evidence ships for them."""


@dataclass(frozen=True)
class Source:
    """Where values come from: how they were gained, of what, and what a publication says without figures."""

    basis: str
    source: str
    says: str = ""
    has_figures: bool = True


@dataclass(frozen=True)
class ClassChoice:
    """What to ship for one class."""

    HIDDEN: ClassVar = ("judged", "choices")

    drive_class: str
    scheduler: str
    """`kernel default` where that is best with one queue and with several."""
    kernel_default: tuple[str, ...]
    responsive: str | None
    """What programs feel least under load with, where that is another one."""
    responsive_price: str
    expected_gain: float | None
    """Over the kernel's own choice, as a share."""
    expected_regret: float | None
    """What the choice is expected to lose against the best one."""
    regret_high: float | None
    """95 % bound of it."""
    sure: Sure
    why: str
    evidence: tuple[Source, ...]
    rule: tuple[str, ...]
    judged: tuple[Judged, ...] = field(default=(), repr=False, compare=False)
    choices: tuple[Choice, ...] = field(default=(), repr=False, compare=False)


@cache
def _stored() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        (files("seekwise.settings") / "drive_classes.json").read_text(encoding="utf-8")
    )
    return document


def class_of(device: BlockDevice) -> DriveClass | None:
    """None of what a controller hides, and of transports that no class covers."""
    name = ""
    if isinstance(device.details.get("controller"), dict):
        return None
    if device.name.startswith("dm-") or device.kind == "md":
        name = "device-mapper"
    elif is_virtual(device):
        name = "virtio disk"
    elif device.transport == "usb":
        name = "USB drive"
    elif device.kind == "mmc":
        name = "SD card or eMMC"
    elif device.kind == "nvme" and device.transport == "nvme":
        name = "NVMe SSD"
    elif device.kind == "disk" and device.transport in ("sata", "ata", "sas"):
        name = "hard disk" if device.rotational else "SATA SSD"
    return next((drive_class for drive_class in CLASSES if drive_class.name == name), None)


def evidence(name: str) -> tuple[Source, ...]:
    """Everything that ships for the class."""
    return tuple(
        Source(source["basis"], source["source"], source["says"], bool(source["values"]))
        for source in _stored()["sources"]
        if source["class"] == name
    )


def _entries(source: dict[str, Any]) -> list[UseFigure]:
    """The figures of one source; a round for each value."""
    entries = []
    for key, by_scheduler in source["values"].items():
        about = _stored()["figures"][key]
        kind = about["metric"].removeprefix("background_").removeprefix("store_")
        rows = tuple(
            (scheduler, i, math.log(value), None)
            for scheduler, values in by_scheduler.items()
            for i, value in enumerate(values)
            if value > 0
        )
        is_single = max(map(len, by_scheduler.values()), default=0) == 1
        entries.append(
            UseFigure(
                about["use"], about["metric"], about["unit"], about["unit"] != "ms", about["threshold"],
                Values(tuple(name for name in SCHEDULERS if name in by_scheduler), rows),
                about["role"], about["group"], about["title"], about["role"], about["purpose"], kind=kind,
                conditions=Conditions(
                    f"{kind} {about['role']}", exact=is_single, added_log=ADDED_LOG,
                    model_error=model_error(kind) if source["basis"] == "simulated" else 0.0,
                ),
            )
        )  # fmt: skip
    return entries


@cache
def choice(name: str, group: str | None = None) -> ClassChoice:
    """The judge's choice for a class, for everything or for one group of uses."""
    about = next(drive_class for drive_class in CLASSES if drive_class.name == name)
    known = evidence(name)
    parts = [_entries(source) for source in _stored()["sources"] if source["class"] == name and source["values"]]
    decided: list[Decided] = []
    for default, _ in about.defaults:
        judged = of_any([judge(part, default) for part in parts], default)
        decided.append(with_choices(judged, default, SCHEDULERS))
    chosen = [
        found
        for decision in decided
        if (found := decision.by_group.get(group) if group else decision.choice) is not None
    ]
    if not chosen:
        return ClassChoice(
            name, KEPT, tuple(scheduler for scheduler, _ in about.defaults), None, "", None, None, None, "mechanism",
            about.instead or f"no figures ship for {group}", known, _rule(about, []),
        )  # fmt: skip
    # What one machine gains, another may lose: a fleet keeps the kernel's choice until a second one was seen.
    changes = any(picked.changes for picked in chosen)
    keeps = (is_lone := changes and len(parts) == 1) or (len(about.defaults) > 1 and not changes)
    settings = () if is_lone else tuple(dict.fromkeys(picked.setting for picked in chosen))
    worst = max(chosen, key=lambda picked: picked.regret_high)
    quick = [found for decision in decided if (found := decision.by_purpose.get("responsive")) is not None]
    other = next((picked for picked in quick if picked.changes and picked.setting not in settings), None)
    other_name = other.setting if other else _probable(quick, settings)
    return ClassChoice(
        name, KEPT if keeps else " / ".join(settings), tuple(scheduler for scheduler, _ in about.defaults), other_name,
        _price(decided[0], other_name, about.defaults[0][0]) if other_name else "",
        0.0 if is_lone else chosen[0].expected_gain, None if is_lone else worst.expected_regret, None if is_lone else worst.regret_high,
        "weak" if is_lone else _sure(known, worst), ("one machine is too few for a change; there " if is_lone else "") + _why(chosen, about), known,
        _rule(about, [] if keeps else [picked.setting for picked in chosen]), decided[0].judged, tuple(chosen),
    )  # fmt: skip


def _probable(quick: Sequence[Choice], settings: Sequence[str]) -> str | None:
    """Where no other one is advised: what is probably more responsive at a price that forbids it."""
    return next(
        (
            picked.alternative.setting
            for picked in quick
            if picked.alternative and picked.alternative.setting not in settings
        ),
        None,
    )


def _price(decided: Decided, setting: str, base: str) -> str:
    """What the more responsive scheduler gains where it gains most, what that costs in the same use, and the highest
    price in any other."""
    gains = [
        (float(gain.mean()), entry)
        for entry in decided.judged
        if entry.counts and entry.group != LIMITS and (gain := entry.gain(setting, base)) is not None
    ]
    if not gains:
        return ""
    most, best = max(gains, key=lambda pair: pair[0])
    parts = [f"{_figure(best)} {_much(most)}"] if most > 0 else []
    own, beside = min((pair for pair in gains if pair[1].use == best.use), key=lambda pair: pair[0])
    if own < 0 and beside is not best:
        parts.append(f"{'what runs beside it' if beside.role == 'background' else 'it'} {_much(own)}")
    least, worst = min(gains, key=lambda pair: pair[0])
    if least < 0 and worst.use != best.use:
        return f"{', '.join(parts)}; at worst, in another use: {_figure(worst)} {_much(least)}"
    return ", ".join(parts)


def _figure(figure: Judged) -> str:
    return f"{'what runs beside ' if figure.role == 'background' else ''}“{figure.title}”"


def _much(log_ratio: float) -> str:
    word = "quicker" if log_ratio > 0 else "slower"
    if abs(log_ratio) > CAP_LOG:
        return f"over {STARVED_FACTOR:.0f} times {word}" if log_ratio > 0 else "nearly stops (less than a tenth)"
    return by(math.exp(abs(log_ratio)), word, of_rate=log_ratio < 0)


def _why(chosen: Sequence[Choice], about: DriveClass) -> str:
    first = chosen[0]
    if best := next((picked for picked in chosen if picked.changes), None):
        most = f", most in “{best.gains[0].title}”" if best.gains else ""
        return f"expected {100 * best.expected_gain:.0f} % better than {about.defaults[0][0]}{most}"
    if first.expected_regret < 0.005:
        return "no other scheduler is better beyond what the evidence can tell"
    return f"nothing is surely better; staying may cost {100 * first.expected_regret:.0f} %"


def _sure(known: Sequence[Source], worst: Choice) -> Sure:
    """Never more than fair: no class was measured on several machines of different make."""
    is_real = any(source.basis in REAL and source.has_figures for source in known)
    return "fair" if is_real and worst.regret_high <= LOST_MUCH else "weak"


def _rule(about: DriveClass, settings: Sequence[str]) -> tuple[str, ...]:
    if not settings:
        return (f"{about.match}, {JUMP}",)
    if len(set(settings)) == 1:
        return (f'{about.match}, ATTR{{queue/scheduler}}="{settings[0]}", {JUMP}',)
    return tuple(
        f'{about.match}, {queues}, ATTR{{queue/scheduler}}="{setting}", {JUMP}'
        for (_, queues), setting in zip(about.defaults, settings, strict=True)
    )


def row(answer: ClassChoice) -> tuple[str, str, str, str]:
    """Of the table: the class, its default, how sure that is, and the evidence."""
    name = "dm map, md array" if answer.drive_class == "device-mapper" else answer.drive_class
    if answer.sure == "mechanism":
        why = next(drive_class.instead for drive_class in CLASSES if drive_class.name == answer.drive_class)
        return (
            name,
            answer.scheduler,
            *(("certain", "nothing to schedule") if why else ("not known", "none ships")),
        )
    return name, answer.scheduler, answer.sure, bases(answer.evidence)


def bases(known: Sequence[Source]) -> str:
    """`measured 1, simulated 3`, the most telling first."""
    counted = Counter(source.basis for source in known)
    order = ("measured", "testbed", "published", "simulated")
    return ", ".join(f"{name} {counted[name]}" for name in order if counted[name])


def rules(choices: Sequence[ClassChoice]) -> str:
    """The udev rules: each class is set once, when the drive appears, so that a value set by hand stays."""
    chosen = {answer.drive_class: answer for answer in choices}
    lines = [
        "# The I/O scheduler for each class of drive, as `seekwise advise --classes` chooses it from the evidence that ships.",
        f'ACTION!="add", {JUMP}',
        f'SUBSYSTEM!="block", {JUMP}',
        f'ENV{{DEVTYPE}}!="disk", {JUMP}',
        "# Volumes of RAID controllers: no evidence ships.",
        f"{NOT_ASKED}, {JUMP}",
    ]
    for drive_class in CLASSES:
        answer = chosen[drive_class.name]
        lines += [
            f"# {drive_class.name}: {answer.scheduler} ({'; '.join(reversed(row(answer)[2:]))})",
            *answer.rule,
        ]
    return "\n".join([*lines, f'LABEL="{LABEL}"', ""])


FOR_WHOM = "Defaults for a distribution or a fleet; for one machine: `seekwise tune PATH`."
SURE_TEXT = f"Fair: with figures of real drives, costing at most {100 * LOST_MUCH:.0f} %. Weak: not both."
CAUTIONS = (
    "Simulated and published figures are of a few models: measure before rolling out.",
    "A rule acts once, when the drive appears; what an administrator sets afterwards stays.",
)


def groups() -> tuple[str, ...]:
    """Groups of uses that figures ship for."""
    return tuple(dict.fromkeys(each["group"] for each in _stored()["figures"].values() if each["group"] != LIMITS))


def headline(answers: Sequence[ClassChoice], group: str | None = None) -> str:
    """What to ship, in one sentence."""
    whom: dict[str, list[str]] = {}
    for advice in answers:
        whom.setdefault(advice.scheduler, []).extend(_PLURAL[advice.drive_class].split(", "))
    most = sorted((name for name in whom if name != KEPT), key=lambda name: -len(whom[name]))
    said = [f"{name} for {listed(whom[name])}" for name in most]
    left = [f"leave {listed(whom[KEPT])} to the kernel"] if KEPT in whom else []
    start = f"Where {group} counts most, make the default" if group else "Make the default"
    return f"{start} {'; '.join([*said, *left])}."


_PLURAL = {
    "hard disk": "hard disks",
    "SATA SSD": "SATA SSDs",
    "NVMe SSD": "NVMe SSDs",
    "USB drive": "USB drives",
    "SD card or eMMC": "SD cards, eMMC",
    "virtio disk": "virtual disks",
    "device-mapper": "maps, md arrays",
}


def quicker(answers: Sequence[ClassChoice]) -> list[str]:
    """Where another scheduler keeps programs more responsive, in a sentence for each scheduler with the figures of the
    first class."""
    named = grouped((advice.responsive, advice) for advice in answers if advice.responsive)
    return [
        f"On {listed(word for advice in those for word in _PLURAL[advice.drive_class].split(', '))} {name} may be quicker while busy, at a price; "
        f"on {_PLURAL[those[0].drive_class]}: {those[0].responsive_price}."
        for name, those in named.items()
    ]


def reasons(answer: ClassChoice) -> list[str]:
    """Why, at what price, and from where."""
    said = [f"{answer.drive_class}: {answer.scheduler}. {answer.why[0].upper()}{answer.why[1:]}."]
    if answer.responsive:
        said.append(f"  {answer.responsive}: {answer.responsive_price}.")
    said += [
        f"  {evidence.basis}: {evidence.source}{f': {evidence.says}' if evidence.says else ''}"
        for evidence in answer.evidence
    ]
    return [*said, *(f"  {line}" for line in answer.rule)]
