"""What was run, in words: one line for the first screen, and the load, devices and versions in full."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from seekwise.grouping import grouped
from seekwise.judge.outcome import LiveOutcome
from seekwise.judge.system_choices import kind_of
from seekwise.number_text import one_line, some
from seekwise.report.content import ReportContent
from seekwise.store import operations
from seekwise.store.record import Record
from seekwise.workload.study.plan import Load
from seekwise.workload.study.quantity import bytes_text, capacity_text, counted, time_text
from seekwise.workload.study.study import System

PROVENANCE = {
    "measured": "Measured on a real machine, with real requests to the real device.",
    "virtual": "Measured with the real kernel on virtual drives.",
    "simulated": "Simulated: a model of host and drives, no request reached a device.",
}


def span(values: Sequence[int], text: Callable[[int], str] = str) -> str:
    """`1 to 16`, `4 KiB`, `1, 4`."""
    levels = sorted(set(values))
    if len(levels) > 2:
        return f"{text(levels[0])} to {text(levels[-1])}"
    return " and ".join(text(level) for level in levels)


def loads(content: ReportContent) -> list[str]:
    """A sentence per named load:
    `database: random read, random write; 8 KiB; 1 and 16 threads; direct; 4 GiB per thread; 10 s each`."""
    if content.plan is None:
        return []
    groups = grouped((combination.load.name, combination.load) for combination in content.plan.combinations)
    return [_load(name, members) for name, members in groups.items()]


def _load(name: str, members: Sequence[Load]) -> str:
    first = members[0]
    if first.job is not None:
        return f"{name}: fio job {first.job}"
    done = list(dict.fromkeys(operations.name(p.operation).lower() for member in members for p in member.phases))
    parts = [", ".join(done), span([member.block_bytes for member in members], bytes_text)]
    threads = [member.threads for member in members]
    parts.append(f"{span(threads)} thread{'' if set(threads) == {1} else 's'}")
    depths = [member.iodepth for member in members]
    if set(depths) != {1}:
        parts.append(f"queue depth {span(depths)}")
    parts.append("direct" if first.direct else "through the page cache")
    if any(member.sync for member in members):
        parts.append("O_SYNC")
    parts.append(first.extent_text)
    runtime = first.phases[0].runtime_s if first.phases else None
    if runtime:
        parts.append(f"{time_text(runtime)} per operation")
    for other in first.beside:
        operation = operations.name(other.phases[0].operation).lower() if other.phases else "other work"
        parts.append(f"with {other.name}: {operation}, {bytes_text(other.block_bytes)}")
    return f"{name}: {'; '.join(parts)}"


def devices(content: ReportContent) -> str:
    """What it ran on, in a few words."""
    environment = content.environment
    if content.provenance == "simulated" and len(content.systems) > 1:
        return some(dict.fromkeys(map(_drives, content.systems)), NAMED_MOST)
    devices_known = environment.get("devices")
    if isinstance(devices_known, list) and devices_known:
        return ", ".join(map(_device, devices_known))
    model = environment.get("device_model")
    models = list(dict.fromkeys(name for r in content.records if (name := _model(r))))
    if len(models) > 1:
        return some(models, NAMED_MOST)
    return str(model) if model else models[0] if models else content.subject


def _device(device: Mapping[str, Any]) -> str:
    """`vda (virtio, 275 GB)`."""
    model = " ".join(str(device[key]) for key in ("model", "kind") if device.get(key))
    size = f", {capacity_text(int(device['size_bytes']))}" if device.get("size_bytes") else ""
    return f"{device.get('name')} ({model}{size})"


def _model(record: Record) -> str:
    """The drive of a simulated record."""
    models = record.load.get("models")
    named = models.get("device") if isinstance(models, dict) else None
    return str(record.environment.get("device_model") or named or "")


def _of_queue(record: Record) -> object:
    spec = record.load.get("spec")
    queue = spec.get("queue") if isinstance(spec, dict) else None
    return queue.get("kernel") if isinstance(queue, dict) else None


def _kernel(record: Record) -> str:
    models = record.load.get("models")
    modelled = models.get("kernel") if isinstance(models, dict) else None
    modelled = modelled or _of_queue(record)
    return f"Linux {modelled} (model)" if modelled else one_line(record.environment.get("kernel") or "")


def kernels(content: ReportContent) -> str:
    """Kernels that were measured or modelled: `Linux 6.12, Linux 2.6.24 (model)`."""
    modelled = [f"Linux {system.kernel} (model)" for system in content.systems if system.kernel]
    names = (
        modelled
        if modelled and content.provenance == "simulated"
        else list(dict.fromkeys(name for r in content.records if (name := _kernel(r))))
    )
    shown = [name if name.lower().startswith("linux") else f"Linux {name}" for name in dict.fromkeys(names)]
    return some(dict.fromkeys(shown), NAMED_MOST)


NAMED_MOST = 4


def _drives(system: System) -> str:
    """`software RAID 10 of 4 × samsung_850_evo`."""
    drive = system.drive or system.target or system.name
    if system.drives == 1 and system.controller is None:
        return drive
    return f"{kind_of(system)} of {system.drives} × {drive}"


def line(content: ReportContent) -> str:
    """`generic 1 TB HDD; Linux 6.1; 4 settings, 60 trials in 3 repetitions; 2026-11-23; seekwise 0.1.0`."""
    repeats = len({record.repetition for record in content.records})
    settings = len({record.setting for record in content.records if not record.setting.endswith("(control)")})
    counts = counted(len(content.records), "trial")
    if settings > 1:
        counts = f"{settings} settings, {counts}"
    counts += f" in {counted(repeats, 'repetition')}"
    seconds = sum(phase.elapsed_s for record in content.records for phase in record.phases)
    word = "simulated" if content.provenance == "simulated" else "measured"
    parts = [devices(content), kernels(content), counts, f"{time_text(seconds)} {word}"]
    if content.run is not None:
        parts += [content.run.created_at[:10], f"seekwise {content.run.seekwise_version}"]
    elif content.records:
        parts.append(content.records[0].started_at[:10])
    return "; ".join(part for part in parts if part)


def line_of_tune(outcome: LiveOutcome) -> str:
    """What was tested, on what, for how long, in one line."""
    names = ", ".join(candidate.label for candidate in outcome.plan.candidates)
    where = outcome.plan.target + (f" on {', '.join(outcome.plan.leaves)}" if outcome.plan.leaves else "")
    uses = len({record.factors.get("use") for record in outcome.records})
    return (
        f"{len(outcome.plan.candidates)} settings ({names}) under {counted(uses, 'use')} on {where}, "
        f"{len(outcome.records)} periods in {time_text(outcome.seconds)}"
    )


SKIPPED = ("stack", "raid_levels", "devices", "file", "machine_id", "boot_id")
UNITS = (("_bytes", bytes_text), ("_mib", lambda value: f"{value} MiB"), ("_mb", lambda value: f"{value} MB"))


def facts(environment: dict[str, object]) -> list[tuple[str, str]]:
    """The environment as name and text: no raw structure, no line break."""
    rows: list[tuple[str, str]] = []
    for name, value in environment.items():
        if name in SKIPPED or value in (None, "", [], {}):
            continue
        rows += _fact(name.replace("_", " "), value)
    return rows


def _fact(name: str, value: object) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        flat = [
            (key, inner)
            for key, inner in value.items()
            if not isinstance(inner, dict | list) and inner not in (None, "")
        ]
        return (
            [(name, ", ".join(f"{str(key).replace('_', ' ')} {_scalar(str(key), inner)}" for key, inner in flat))]
            if flat
            else []
        )
    if isinstance(value, list | tuple):
        plain = [_scalar(name, item) for item in value if not isinstance(item, dict | list)]
        return [(name, ", ".join(plain))] if plain else []
    for suffix, text in UNITS:
        words = suffix.strip("_")
        if name.endswith(f" {words}") and isinstance(value, int) and not isinstance(value, bool):
            return [(name.removesuffix(f" {words}"), text(value))]
    return [(name, _scalar(name, value))]


def _scalar(name: str, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and re.search(r"bytes$", name):
        return bytes_text(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    return one_line(value)
