"""What is compared: settings by label, each with the values it puts in force on every device it touches.

The values in force are always a candidate. A setting that a load cannot feel is refused with the reason.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from seekwise import suggestion
from seekwise.control import attributes, kernel_faults, settings, sysfs
from seekwise.errors import UsageError
from seekwise.measure.kernel.target import Target
from seekwise.workload.live_plan import Candidate, Changes
from seekwise.workload.study.factors import FACTORS, Factor, Value, checked, factor


@dataclass(frozen=True)
class Candidates:
    """All that are compared; the one in force first."""

    all: tuple[Candidate, ...]
    notes: tuple[str, ...] = ()


def offered_schedulers(target: Target) -> list[str]:
    """Schedulers that every drive below the target offers, whether or not we have a model of them."""
    lists = [device.schedulers_offered for device in target.leaves if device.schedulers_offered]
    if not lists:
        return []
    return [name for name in lists[0] if all(name in offered for offered in lists)]


def in_force_values(target: Target, names: Sequence[str]) -> dict[str, Value]:
    """Values of these settings as they are now; those that nothing below the target has are left out."""
    values: dict[str, Value] = {}
    for name in names:
        row = checked(name)
        for device in target.places(row):
            text = attributes.current(row.attribute, sysfs.device_folder(device))
            if text is not None:
                values[name] = int(text) if row.kind == "number" and text.lstrip("-").isdigit() else text
                break
    return values


def devices_of(target: Target, candidates: Iterable[Candidate]) -> tuple[str, ...]:
    """The devices below the target, and whatever else these candidates change: the limits of the whole machine."""
    names = [device.name for device in target.resolved.chain()]
    return tuple(dict.fromkeys([*names, *(device for candidate in candidates for device in candidate.changes)]))


def of_schedulers(target: Target) -> Candidates:
    """Every scheduler that the drives offer, without those that this kernel is known to break under."""
    tried, notes = tried_schedulers(target)
    made = of_factors(target, {"scheduler": list(tried)})
    return replace(made, notes=(*made.notes, *notes))


def tried_schedulers(target: Target) -> tuple[list[str], list[str]]:
    """Those that nobody needs to name, and why others are left out."""
    why = {name: left_out(name, target.changes({"scheduler": name})) for name in offered_schedulers(target)}
    return [name for name, note in why.items() if note is None], [note for note in why.values() if note]


def left_out(label: str, changes: Changes) -> str | None:
    """Why nothing that nobody has named is tried here: a fault of this kernel."""
    for device, values in settings.normalised(changes).items():
        for fault, sentence in kernel_faults.met(sysfs.device_folder(device), values, "leave-out", "refuse"):
            return f"{label} is not tried: {sentence} ({fault.id}); --vary tries it"
    return None


def product(
    wanted: Mapping[str, Sequence[Value]],
    current: Mapping[str, Value],
    changes: Callable[[dict[str, Value]], Changes] = lambda _: {},
) -> list[Candidate]:
    """Every combination of these values and, before them, what is in force. `changes`: what sets a combination."""
    combined: list[Candidate] = []
    for combination in itertools.product(*wanted.values()):
        values = dict(zip(wanted, combination, strict=True))
        label = label_of(values)
        if any(candidate.label == label for candidate in combined):
            continue
        in_force = all(str(value) == str(current.get(name)) for name, value in values.items())
        combined.append(Candidate(label, values, {} if in_force else changes(values), in_force))
    if not any(candidate.in_force for candidate in combined):
        combined.insert(0, Candidate(label_of(current) if current else "as it is", dict(current), {}, True))
    return sorted(combined, key=lambda candidate: not candidate.in_force)


def of_factors(target: Target, wanted: Mapping[str, Sequence[Value]]) -> Candidates:
    """The product of these values, each once, the configuration in force added if it is not among them."""
    for name in wanted:
        _check_name(name, target)
    current = in_force_values(target, list(wanted))
    candidates = product(wanted, current, target.changes)
    now, notes = candidates[0], []
    if wanted and len(candidates) > math.prod(len(set(map(str, values))) for values in wanted.values()):
        notes.append(f"{label_of(current)} is in force and takes part as well")
    if len(candidates) < 2:
        raise UsageError(
            f"only {now.label} can be measured: there is nothing to compare it with",
            hint="`seekwise devices PATH` shows what the drives offer; --vary NAME=VALUE,… names values to try",
        )
    settings_checked(candidates)
    return Candidates(tuple(candidates), tuple(notes))


def settings_checked(candidates: Sequence[Candidate]) -> None:
    """Raises for whatever of these values can be known to be refused."""
    for candidate in candidates:
        settings.check_values(candidate.changes)


def label_of(values: Mapping[str, Value]) -> str:
    """`mq-deadline`, `read_ahead_kb=128`, `bfq nr_requests=64`."""
    parts = [str(value) if name == "scheduler" else f"{name}={value}" for name, value in values.items()]
    return " ".join(parts)


def parse_vary(texts: Sequence[str], *, builds: bool = False) -> dict[str, list[Value]]:
    """{name: values} of `read_ahead_kb=128,1024`; UsageError names what is wrong and what there is. `builds`: also what storage is built of."""
    asked: dict[str, list[Value]] = {}
    for text in texts:
        name, equals, listed = text.partition("=")
        name = name.strip()
        words = [word.strip() for word in listed.split(",") if word.strip()]
        if not equals or not words:
            raise UsageError(
                f"--vary takes NAME=VALUE,VALUE and got {text!r}", hint="for example --vary read_ahead_kb=128,1024"
            )
        row = _row(name, builds=builds)
        values: list[Value] = []
        for word in words:
            try:
                value: Value = int(word) if row.kind == "number" and word.lstrip("-").isdecimal() else word
                row.check(value)
            except ValueError as error:
                raise UsageError(f"--vary {name}={word}: {error}") from None
            values.append(value)
        asked.setdefault(name, []).extend(values)
    return asked


def _row(name: str, *, builds: bool = False) -> Factor:
    row = factor(name)
    if row is None:
        known = [row.name for row in FACTORS.values() if builds or row.where != "build"]
        raise UsageError(
            f"no setting is called `{name}`", hint=suggestion.hint(name, known, f"settings: {', '.join(known)}")
        )
    return row


def _check_name(name: str, target: Target) -> None:
    row = _row(name)
    if row.where == "build":
        raise UsageError(
            f"{name} cannot be changed while the storage is in use",
            hint="a study compares such systems: `seekwise explain study`",
        )
    if not target.places(row):
        raise UsageError(
            f"nothing below {target.path} has the setting {name}",
            hint=f"`seekwise devices {target.path}` shows what each device has",
        )
