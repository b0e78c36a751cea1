"""Services whose settings stand as NAME=VALUE in one file: ktune of RHEL 5 and 6, sapconf of SUSE, laptop-mode.

/etc/sysconfig/ktune                ELEVATOR="deadline", ELEVATOR_TUNE_DEVS="/sys/block/{sd,dm-}*/queue/scheduler"
/etc/sysconfig/sapconf              IO_SCHEDULER="noop none": the first that a disk offers
/etc/laptop-mode/laptop-mode.conf   CONTROL_READAHEAD=1, NOLM_READAHEAD=128 (KiB), HD="/dev/[hs]d[abcdefgh]"
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.reading import NamedValue, Reading, is_enabled

KTUNE_PROFILES = "/etc/tune-profiles"
"""tuned-adm of RHEL 6 names the profile there, and ktune is given its file."""
LAPTOP_MODE = "/etc/laptop-mode/laptop-mode.conf"
SAPCONF = "/etc/sysconfig/sapconf"
SAPCONF_ATTRIBUTES = {"IO_SCHEDULER": "queue/scheduler", "NRREQ": "queue/nr_requests"}
DISKS = re.compile(r"(?:sd|vd|xvd)[a-z]+|nvme\d+n\d+|dm-\d+")
LINE = re.compile(r"\s*([A-Z_]{1,64})=[\"']?([^\"'#]{0,1000})")


def read(reading: Reading) -> Iterator[Setter]:
    """What these services set when they start; uncertain where nothing starts them."""
    yield from _ktune(reading)
    yield from _sapconf(reading)
    yield from _laptop_mode(reading)


def _ktune(reading: Reading) -> Iterator[Setter]:
    profile = reading.text(f"{KTUNE_PROFILES}/active-profile").strip()
    values = _values(reading, f"{KTUNE_PROFILES}/{profile}/ktune.sysconfig" if profile else "/etc/sysconfig/ktune")
    if "ELEVATOR" not in values or "ELEVATOR_TUNE_DEVS" not in values:
        return
    starts = any(
        name.endswith("ktune") for folder in ("/etc/rc3.d", "/etc/rc.d/rc3.d") for name in reading.names(folder)
    )
    for pattern in values["ELEVATOR_TUNE_DEVS"].text.split()[:100]:
        for path in _braces(pattern):
            for name, attribute in reading.settings(path):
                yield _setter("ktune", values["ELEVATOR"], name, attribute, values["ELEVATOR"].text, certain=starts)


def _sapconf(reading: Reading) -> Iterator[Setter]:
    starts = is_enabled(reading.tree, "sapconf.service")
    for key, value in _values(reading, SAPCONF).items():
        attribute = SAPCONF_ATTRIBUTES.get(key, "")
        for name, word in on_disks(reading, attribute, value.text) if attribute else ():
            yield _setter("sapconf", value, name, attribute, word, certain=starts)


def on_disks(reading: Reading, attribute: str, text: str) -> Iterator[tuple[str, str]]:
    """Each disk with the first word of a list that it takes, as saptune and sapconf choose."""
    for device in reading.stack.devices.values():
        reading.spend(2)
        if not device.below and DISKS.fullmatch(device.name):
            words = text.replace(",", " ").split()
            offered = (word for word in words if attribute != "queue/scheduler" or word in device.schedulers_offered)
            yield from ((device.name, word) for word in list(offered)[:1])


def _laptop_mode(reading: Reading) -> Iterator[Setter]:
    values = _values(reading, LAPTOP_MODE)
    wanted = values.get("NOLM_READAHEAD")
    if wanted is None or "CONTROL_READAHEAD" not in values or values["CONTROL_READAHEAD"].text == "0":
        return
    for pattern in values["HD"].text.split()[:100] if "HD" in values else ():
        for path in _braces(pattern):
            for node in reading.places(path):
                if name := reading.name_of(node):
                    # On battery it sets LM_READAHEAD instead.
                    yield _setter("laptop-mode", wanted, name, "queue/read_ahead_kb", wanted.text, certain=False)


def _setter(kind: str, value: NamedValue, device: str, attribute: str, text: str, *, certain: bool) -> Setter:
    rank = (assignment.TUNED, 0, value.file, value.line)
    return Setter(kind, value.file, value.line, device, attribute, text, rank, certain=certain)


def _values(reading: Reading, file: str) -> dict[str, NamedValue]:
    values = {}
    for number, line in reading.lines(file, 1200):
        if (match := LINE.match(line)) and match[2].strip():
            values[match[1]] = NamedValue(match[2].strip(), file, number)
    return values


def _braces(text: str) -> list[str]:
    """`{sd,cciss}*` as its two words."""
    match = re.fullmatch(r"([^{}]*)\{([^{}]{1,200})\}([^{}]*)", text)
    return [f"{match[1]}{word}{match[3]}" for word in match[2].split(",")] if match else [text]
