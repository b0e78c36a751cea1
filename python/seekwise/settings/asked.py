"""What a user asks `apply` to set, resolved to devices and attributes, on this machine or on a captured one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from seekwise import schedulers
from seekwise.control import attributes
from seekwise.control.settings import normalised
from seekwise.errors import MissingError, UsageError
from seekwise.linux.model import BlockDevice, Stack
from seekwise.linux.resolve import has_setting, resolve_path
from seekwise.settings import ncq, ranges
from seekwise.settings.forms import Wanted
from seekwise.settings.history import Evidence, evidence_of

if TYPE_CHECKING:
    from seekwise.workload.study.plan import Plan


@dataclass(frozen=True)
class Asked:
    """`controller`: {device: {ncq or write_cache: on?}} for units whose controller alone can do it."""

    wanted: Wanted
    reason: str
    evidence: Evidence | None = None
    controller: dict[str, dict[str, bool]] = field(default_factory=dict)


def by_hand(targets: tuple[str, ...], settings: tuple[str, ...], stack: Stack) -> Asked:
    """Each setting on the devices on which it acts below each target."""
    wanted: Wanted = {}
    controller: dict[str, dict[str, bool]] = {}
    for target in targets:
        found = resolve_path(stack, target)
        for text in settings:
            name, sign, value = (part.strip() for part in text.partition("="))
            if not sign or not name or not value:
                raise UsageError(f"{text!r} is not NAME=VALUE", "for example `--set scheduler=bfq`")
            if name == "ncq":
                for device in found.leaves:
                    if ncq.by_controller(device):
                        controller.setdefault(device.name, {})["ncq"] = ncq.is_on(value)
                    else:
                        _want(wanted, device.name, "device/queue_depth", ncq.depth(device, value, stack))
                continue
            short = name.removeprefix("queue/").removeprefix("device/").removeprefix("md/")
            devices = found.devices_for(short.replace("iosched.", "iosched/"))
            if not devices:
                raise UsageError(f"nothing below {target} has the setting {name}", "`seekwise devices` shows the stack")
            for device in devices:
                _want(wanted, device.name, attributes.canonical(name), value)
    return Asked(normalised(wanted), "set by hand", None, controller)


def _want(wanted: Wanted, device: str, attribute: str, value: str) -> None:
    values = wanted.setdefault(device, {})
    if values.setdefault(attribute, value) != value:
        raise UsageError(f"{device} {attribute} is asked to be {values[attribute]} and {value}", "name one of them")


def recommended(run: str, purpose: str | None, db: Path | None, system: str | None = None) -> Asked:
    """What a run recommends, for all of its systems or the one named, with the run as evidence."""
    from seekwise.judge import workloads
    from seekwise.report import outcome
    from seekwise.settings import recommend
    from seekwise.store.database import Store
    from seekwise.workload.live_plan import is_live

    with Store.open(db, create=False) as store:
        named = store.run(run)
        evidence = evidence_of(named, store)
        if is_live(named.plan):
            if system is not None:
                raise UsageError(f"run {named.run_id} of `tune` has one target, so it takes no `--system`")
            values, reason = _live(store, named, purpose)
            return Asked(normalised(values), reason, evidence)
        workload = workloads.find(purpose) if purpose else None
        found = outcome.of(store, named)
    answers = recommend.per_drive(found, workload, system)
    if not answers:
        raise _not_here(found.run.run_id, found.plan)
    many = len(answers) > 1
    headlines = [f"{each.system}: {each.advice.headline}" if many else each.advice.headline for each in answers]
    reason = f"run {found.run.run_id}: {'; '.join(each.rstrip('.') for each in headlines)}"
    chosen = [each for each in answers if each.setting is not None]
    if not chosen:
        return Asked({}, reason, evidence)
    wanted: Wanted = {}
    for each in chosen:
        wanted.update(outcome.wanted(each.setting, each.plan))  # type: ignore[arg-type]
    return Asked(normalised(wanted), reason, evidence)


def _not_here(run_id: str, plan: Plan) -> UsageError:
    from seekwise.settings import live

    if plan.backend != "kernel":
        return live.not_here(run_id, plan.backend)
    return UsageError(
        f"the systems of run {run_id} are alternatives on the same drives",
        "`sudo seekwise tune PATH` measures; `--device … --set …` sets whatever you like",
    )


def _live(store, run, purpose: str | None) -> tuple[Wanted, str]:
    """What a live-switched run recommends; nothing to set when the choice is in force already."""
    from seekwise.settings import live

    return live.recommended(store, run, purpose)


def check(wanted: Wanted, stack: Stack) -> tuple[str, ...]:
    """Refuses what that machine does not have; returns notes. Reads nothing but the stack, so a capture will do."""
    notes = []
    for name, values in wanted.items():
        device = stack.devices.get(name)
        if device is None:
            raise UsageError(f"no block device is called {name}", "`seekwise devices` lists them")
        for attribute, value in values.items():
            notes += _check_one(device, attribute, value, values)
    check_values(wanted, stack)
    return tuple(notes)


def check_values(wanted: Wanted, stack: Stack) -> None:
    """Refuses values that no kernel takes for these devices; a device that is not there is somebody else's to refuse."""
    for name, values in wanted.items():
        for attribute, value in values.items():
            if name in stack.devices:
                ranges.check(stack.devices[name], attribute, value, stack)


def _check_one(device: BlockDevice, attribute: str, value: str, values: dict[str, str]) -> list[str]:
    if attribute == "queue/scheduler":
        if value in device.schedulers_offered:
            return []
        module = attributes.SCHEDULER_MODULES.get(value)
        offered = ", ".join(device.schedulers_offered) or "none"
        known = schedulers.known()
        if module and any(known[name].multi_queue for name in device.schedulers_offered if name in known):
            return [f"{device.name} offers {value} only once the module {module} is loaded (now: {offered})"]
        raise UsageError(
            f'{device.name} does not offer scheduler "{value}" (offered: {offered})', "choose one of these"
        )
    tunable = attribute.removeprefix(attributes.IOSCHED)
    if tunable != attribute:
        switched = values.get("queue/scheduler", device.scheduler) != device.scheduler
        if not switched and tunable not in device.iosched:
            raise MissingError(
                f"{device.name} has no {attribute}",
                f"{device.scheduler} has {', '.join(device.iosched) or 'no tunables'}",
            )
        return []
    if attribute != attributes.CACHE_TYPE and not has_setting(device, attribute):
        raise MissingError(f"{device.name} has no {attribute}", "`seekwise devices` shows what it has")
    return []
