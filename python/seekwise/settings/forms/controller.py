"""Commands of the controller's own tool for units behind a RAID card: command queueing (NCQ) and write cache."""

from __future__ import annotations

import shlex
from pathlib import Path

from seekwise.errors import SeekwiseError, UsageError
from seekwise.linux.block_device import Stack
from seekwise.settings import controllers
from seekwise.settings.forms.file import File, Wanted


def file(wanted: Wanted, stack: Stack) -> File:
    """Commands of the controller's own tool for its units. UsageError for a device that is none."""
    units = controllers.units(stack)
    lines = []
    notes = []
    for device, values in wanted.items():
        if device not in units:
            raise UsageError(
                f"{device} is no unit of a RAID controller", "`--print sysfs` and `--print udev` are for drives"
            )
        for name, value in values.items():
            asked = asks(name, value)
            if asked is None:
                notes.append(f"{device} {name} is set in the kernel, not at the controller: use another form for it")
                continue
            try:
                change = controllers.change(units[device], *asked, here=str(stack.root) == "/")
                line = shlex.join(change.command)
                # Not to be run as it is: a shell would take the words in capitals for a slot.
                lines.append(line if change.unknown is None else f"# {change.unknown}\n# {line}")
                notes += [change.unknown] if change.unknown else []
            except SeekwiseError as error:
                notes.append(error.message)
    if not lines:
        raise UsageError(
            "; ".join(["nothing here is set at a controller", *notes]),
            "it takes queue_depth (1: no command queueing) and write_cache",
        )
    text = "#!/bin/sh\n# Read what these commands change before you run them.\nset -e\n"
    return File(
        Path("seekwise-controller.sh"), text + "".join(f"{line}\n" for line in dict.fromkeys(lines)), tuple(notes)
    )


def asks(name: str, value: str) -> tuple[str, bool] | None:
    """The controller's switch that a setting means, and whether it is on."""
    if name == "device/queue_depth":
        return "ncq", value != "1"
    if name in ("queue/write_cache", "cache_type"):
        return "write_cache", value == "write back"
    return None
