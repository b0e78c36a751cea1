"""What an earlier `apply --persist` wrote stays when a later one is about other devices or other settings.

Each way has a function `(old text, new text) → text of both`. Where both say something of the same thing the new one
holds; lines that are not ours stay where they are. A scheduler's tunables go with their scheduler.
"""

from __future__ import annotations

import glob
import re

from seekwise.control import attributes
from seekwise.settings.forms.boot import LINE

_RULE = re.compile(r'(ACTION=="[^"]*"), (SUBSYSTEM=="block", ENV\{DEVTYPE\}=="disk", .*?), (ATTR\{.*)')
_ATTR = re.compile(r'ATTR\{([^}]*)\}="([^"]*)"')
_SCHEDULER = "queue/scheduler"


def udev(old: str, new: str) -> str:
    """One rule per device; the part between ACTION and the first ATTR says which device. The new rule says when it
    acts."""
    rules = _by_device(new)
    lines = []
    for line in old.splitlines():
        match = _RULE.fullmatch(line)
        mine = rules.pop(match[2], None) if match is not None else None
        if match is None or mine is None:
            lines.append(line)
        else:
            action, values = mine
            lines.append(_rule(action, match[2], _both(dict(_ATTR.findall(match[3])), values)))
    return _text(old, new, lines, [_rule(action, device, values) for device, (action, values) in rules.items()])


def _by_device(text: str) -> dict[str, tuple[str, dict[str, str]]]:
    matches = (_RULE.fullmatch(line) for line in text.splitlines())
    return {match[2]: (match[1], dict(_ATTR.findall(match[3]))) for match in matches if match}


def _rule(action: str, device: str, values: dict[str, str]) -> str:
    sets = ", ".join(f'ATTR{{{name}}}="{values[name]}"' for name in sorted(values, key=_order))
    return f"{action}, {device}, {sets}"


def _both(old: dict[str, str], new: dict[str, str]) -> dict[str, str]:
    if _SCHEDULER in new and new[_SCHEDULER] != old.get(_SCHEDULER):
        old = {name: value for name, value in old.items() if not name.startswith(attributes.IOSCHED)}
    return {**old, **new}


def _order(name: str) -> tuple[int, str]:
    known = attributes.CACHE_TYPE if name.endswith("/cache_type") else name
    try:
        return attributes.order(known)
    except KeyError:
        return 1000, name


def sysfs_conf(old: str, new: str) -> str:
    """`block/sda/queue/scheduler = bfq`: a line per value."""
    mine = dict(_assignments(new))
    switched = {
        name.removesuffix(_SCHEDULER)
        for name, value in mine.items()
        if name.endswith(_SCHEDULER) and dict(_assignments(old)).get(name) != value
    }
    lines = []
    for line in old.splitlines():
        name = line.partition("=")[0].strip()
        if any(name.startswith(device + attributes.IOSCHED) for device in switched) and name not in mine:
            continue
        lines.append(f"{name} = {mine.pop(name)}" if name in mine else line)
    # A tunable stands after its scheduler, which may be new at the end.
    return _text(old, new, lines, [f"{name} = {value}" for name, value in mine.items()])


def _assignments(text: str) -> list[tuple[str, str]]:
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return [(name.strip(), value.strip()) for name, _, value in pairs]


def boot(old: str, new: str) -> str:
    """A module per line, or the one line that adds to the boot line."""
    if LINE in new:
        return _text(old, new, [line for line in old.splitlines() if not line.startswith(LINE)], new.splitlines()[-1:])
    lines = old.splitlines()
    return _text(old, new, lines, [line for line in new.splitlines() if not line.startswith("#") and line not in lines])


def tuned(old: str, new: str) -> str:
    """Sections with `name=value`; `include` of the old one stays where the new one has none: by then the profile in
    force is ours."""
    sections = _sections(old)
    for heading, lines in _sections(new).items():
        own = sections.setdefault(heading, {})
        if heading.startswith("[disk_") and "elevator" in lines and lines["elevator"] != own.get("elevator"):
            device = heading[len("[disk_") : -1]
            stale = f"/sys/block/{device}/{attributes.IOSCHED}"
            for heading_of_rest in ("[sysfs]", "[sysfs_seekwise]"):
                sysfs = sections.get(heading_of_rest, {})
                for name in [name for name in sysfs if name.startswith((stale, glob.escape(stale)))]:
                    del sysfs[name]
        own.update(lines)
    head = [line for line in new.splitlines() if line.startswith("#")]
    body = [
        "\n".join([heading, *(name if value is None else f"{name}={value}" for name, value in lines.items())]) + "\n"
        for heading, lines in sections.items()
        if lines or not heading
    ]
    return "\n".join(head) + "\n" + "\n".join(body)


def _sections(text: str) -> dict[str, dict[str, str | None]]:
    sections: dict[str, dict[str, str | None]] = {}
    heading = None
    for raw in text.splitlines():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            heading = sections.setdefault(line, {})
        elif heading is not None:
            name, sign, value = line.partition("=")
            heading[name.strip()] = value.strip() if sign else None
    return sections


def _text(old: str, new: str, lines: list[str], more: list[str]) -> str:
    """`lines` (the old file) and `more`, below the heading of the new one."""
    head = [line for line in new.splitlines() if line.startswith("#") and line not in lines]
    return "".join(f"{line}\n" for line in [*head, *lines, *more])


WAYS = {"udev": udev, "sysfs.conf": sysfs_conf, "boot": boot, "tuned": tuned}
