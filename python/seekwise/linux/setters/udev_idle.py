"""Rules that set a queue's files and can meet no disk at all, whatever the machine has: why, and what would.

A rule for a kind of disk that this machine lacks is none of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from seekwise.linux.setters.assignment import QUEUE_NUMBERS
from seekwise.linux.setters.reading import NotEvaluated, Reading
from seekwise.linux.setters.udev_syntax import CONDITIONS, Rule, Token

ACTIONS = ("add", "change", "remove", "move", "online", "offline", "bind", "unbind")
"""Linux lib/kobject_uevent.c: kobject_actions."""
IN_QUEUE = frozenset({*QUEUE_NUMBERS, "scheduler"})
ASKED = frozenset({"queue/rotational", "queue/scheduler", "queue/zoned", "queue/hw_sector_size", "queue/logical_block_size", "queue/physical_block_size", "rotational"})  # fmt: skip
"""What rules ask of a drive."""
NO_NAME = re.compile(r"[+(),$\s]|^\^|\.\*")
"""Signs of regular expressions that no device's name has."""
MOST = 50

Line = tuple[str, int]


def note(reading: Reading, rules: Iterable[Rule], acting: set[Line], on_partitions: set[Line]) -> None:
    """Notes each rule that did not act (`acting` has those that did) and cannot."""
    for rule in rules:
        place = (rule.file, rule.line)
        settings = [token for token in rule.tokens if token.key == "ATTR" and _is_setting(token)]
        only_asks = all(token.operator in CONDITIONS for token in rule.tokens)
        # A rule that sets nothing means to set what it compares last; whether a drive rotates is asked, not set.
        if only_asks:
            settings = [token for token in reversed(settings) if token.attribute not in ASKED - {"queue/scheduler"}]
        target = next(iter(settings), None)
        if target is None or place in acting or len(reading.ineffective) >= MOST:
            continue
        try:
            reason, instead = _never(rule, target, reading) or ("", "")
        except NotEvaluated:
            continue
        if not reason and place in on_partitions and target.operator not in CONDITIONS:
            reason, instead = (
                "it meets partitions alone, and they have no queue",
                f'name the disk in KERNEL, or ATTR{{../{target.attribute}}}="{target.value}"',
            )
        if reason:
            attribute = target.attribute or ""
            attribute = attribute if "/" in attribute else f"queue/{attribute}"
            reading.idle(*place, None, attribute, target.value, reason, instead)


def _is_setting(token: Token) -> bool:
    name = (token.attribute or "").removeprefix("../")
    return name.startswith(("queue/", "bdi/", "md/")) or name in IN_QUEUE or name == "device/queue_depth"


def _compared_for_assigned(rule: Rule) -> Token | None:
    """A number that nobody asks for: read-ahead, requests, tunables of a scheduler."""
    compared = (token for token in rule.tokens if token.key == "ATTR" and token.operator == "==" and _is_setting(token))
    return next((token for token in compared if token.attribute not in ASKED and token.value.isdecimal()), None)


def _never(rule: Rule, target: Token, reading: Reading) -> tuple[str, str] | None:
    """Why no disk ever matches, and what to write instead."""
    meant = f'ATTR{{{target.attribute}}}="{target.value}"'
    if all(token.operator in CONDITIONS for token in rule.tokens):
        return "every part of it compares, and none sets: `==` compares, `=` assigns", meant
    if (compared := _compared_for_assigned(rule)) is not None:
        return (
            f"`==` compares, `=` assigns: the line acts only where {compared.attribute} is {compared.value} already",
            f'ATTR{{{compared.attribute}}}="{compared.value}"',
        )
    if target.attribute in IN_QUEUE and target.operator not in CONDITIONS:
        return f"a disk's folder has no file {target.attribute}", f'ATTR{{queue/{target.attribute}}}="{target.value}"'
    for token in rule.tokens if target.operator not in CONDITIONS else ():
        if token.operator != "==":
            continue
        choices = token.value.split("|")
        if token.key == "ACTION" and not any(reading.matches(token.value, action) for action in ACTIONS):
            return f'there is no action "{token.value}"', 'ACTION=="add|change"'
        if token.key == "SUBSYSTEM" and not reading.matches(token.value, "block"):
            return (
                f"a device of subsystem {token.value} has no queue; its disk is one of subsystem block",
                'SUBSYSTEM=="block"',
            )
        if token.key == "KERNEL" and all(map(NO_NAME.search, choices)):
            return (
                f'udev takes patterns of the shell, no regular expressions: KERNEL=="{token.value}" meets no name',
                'KERNEL=="sd[a-z]*"',
            )
        if (
            token.key == "KERNEL"
            and reading.matches(token.value, "nvme0")
            and not reading.matches(token.value, "nvme0n1")
        ):
            return (
                f'KERNEL=="{token.value}" meets the controller nvme0, and the disk is nvme0n1',
                'KERNEL=="nvme[0-9]*n[0-9]*"',
            )
    return None
