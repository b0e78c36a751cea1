"""Which assignments the kernel takes: a scheduler that it does not offer is refused, and the line that names it does
nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from seekwise import schedulers
from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.linux.setters.assignment import Ineffective, Setter
from seekwise.linux.setters.boot_line import SINGLE_QUEUE
from seekwise.suggestion import nearest

ALIASES = {"deadline": "mq-deadline"}
"""Linux 4.15 and later, block/mq-deadline.c: elevator_alias."""
WHOLE = frozenset({
    *(f"queue/{name}" for name in ("read_ahead_kb", "nr_requests", "max_sectors_kb", "nomerges", "rq_affinity", "wbt_lat_usec", "rotational", "iostats", "add_random")),
    "device/queue_depth", "md/stripe_cache_size", "md/group_thread_cnt",
})  # fmt: skip
"""Attributes that the kernel reads with kstrtoul or kstrtol: `1M` is refused."""
MISSPELT = 0.85
MULTI_QUEUE = {"noop": "none", "cfq": "bfq", "anticipatory": "bfq"}
"""What the multi-queue kernel has instead of names of the single queue."""


def taken(device: BlockDevice, scheduler: str) -> str:
    """The scheduler that the kernel sets when this name is written: the name itself, or what it is another name of."""
    offered = device.schedulers_offered
    alias = ALIASES.get(scheduler.strip())
    return alias if alias in offered and scheduler.strip() not in offered and alias is not None else scheduler.strip()


def divide(setters: tuple[Setter, ...], stack: Stack) -> tuple[tuple[Setter, ...], list[Ineffective]]:
    """Assignments that act, and those that the kernel refuses."""
    acting, idle = [], []
    known = frozenset(schedulers.registry())
    for setter in setters:
        reason = _refused(setter, stack.devices[setter.device], known)
        if reason is None:
            acting.append(setter)
        else:
            idle.append(
                Ineffective(
                    setter.kind, setter.file, setter.line, setter.device, setter.attribute, setter.value, *reason
                )
            )
    return tuple(acting), idle


def _refused(setter: Setter, device: BlockDevice, known: frozenset[str]) -> tuple[str, str] | None:
    """Why the kernel refuses a scheduler, and what would act."""
    offered, name = device.schedulers_offered, setter.value.strip()
    part, _, file = setter.attribute.partition("/")
    if any(sign in name for sign in "$%?*\0") or not name:
        return None
    if setter.attribute in WHOLE and not re.fullmatch(r"-?\d{1,19}", name):
        return f"{file} takes a whole number, and {name!r} is none", "write the number alone"
    if part == "queue" and file not in device.queue and (meant := nearest(file, device.queue, MISSPELT)):
        return f"{device.name} has no {setter.attribute}", f"write to queue/{meant}"
    if setter.attribute != "queue/scheduler" or len(offered) < 2:
        return None
    if taken(device, name) in offered:
        return None
    listed = " ".join(offered)
    if name in SINGLE_QUEUE and not set(offered) & SINGLE_QUEUE:
        other = MULTI_QUEUE.get(name) or ALIASES.get(name, "none")
        loaded = "" if other in offered else f" (with its module: {_module(other)})"
        return f"the multi-queue kernel has no {name} ({device.name} offers {listed})", f"write {other}{loaded}"
    if name in known:
        return (
            f"{device.name} does not offer {name} ({listed}): its module is not loaded",
            f"a line `{_module(name)}` in /etc/modules-load.d, if this kernel has it",
        )
    return f"{device.name} does not offer {name} ({listed})", f"write one of {listed}"


def _module(name: str) -> str:
    # Module names of Linux 4.12 and later: block/Makefile.
    return {"bfq": "bfq", "kyber": "kyber-iosched", "mq-deadline": "mq-deadline"}.get(name, name)


def through_rules(dead: Iterable[Ineffective], setters: tuple[Setter, ...]) -> list[Ineffective]:
    """Names the udev rule that reads a boot parameter which the kernel ignores, and sets it (RHEL 8's
    40-elevator.rules)."""
    rules = {
        setter.value: setter for setter in setters if setter.kind == "udev" and setter.attribute == "queue/scheduler"
    }
    return [
        replace(path, through=rules[path.value].text) if path.kind == "boot" and path.value in rules else path
        for path in dead
    ]
