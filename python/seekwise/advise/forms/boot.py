"""Modules of schedulers to load at boot. Kernels before 5.0 take the scheduler from the boot line; that is said as a note."""

from __future__ import annotations

from pathlib import Path

from seekwise.advise.forms.model import HEAD, File, Wanted
from seekwise.control import attributes
from seekwise.errors import UsageError
from seekwise.linux.model import Stack
from seekwise.linux.setters.boot_line import single_queue


def file(wanted: Wanted, stack: Stack) -> File:
    schedulers = sorted({values["queue/scheduler"] for values in wanted.values() if "queue/scheduler" in values})
    if single_queue(stack) and schedulers:
        if len(schedulers) > 1:
            raise UsageError(
                f"the boot line sets one scheduler for all disks, not {' and '.join(schedulers)}",
                "`udev` sets each disk's own",
            )
        return File(
            Path("/etc/default/grub"),
            f"# Add this word to the kernel's command line (GRUB_CMDLINE_LINUX), then run update-grub:\nelevator={schedulers[0]}\n",
            (f"kernel {stack.kernel} sets it for all disks at once",),
        )
    modules = [module for name in schedulers if (module := attributes.SCHEDULER_MODULES.get(name))]
    if not modules:
        raise UsageError(
            f"no module is needed at boot for {', '.join(schedulers) or 'these values'}",
            "`udev` sets the values",
        )
    notes = ("loads the module only: `udev` sets the values",)
    return File(Path("/etc/modules-load.d/seekwise.conf"), HEAD + "".join(f"{module}\n" for module in modules), notes)
