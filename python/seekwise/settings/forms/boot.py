"""What acts at boot. Kernels from 5.0 on: modules of schedulers to load. Older ones: the boot line, `elevator=`.

The boot line is written where the boot loader reads files of others beside its own (Debian's grub-mkconfig sources
/etc/default/grub.d/*.cfg after /etc/default/grub); elsewhere the word to add is printed, for a file of somebody else's
is not edited.
"""

from __future__ import annotations

from pathlib import Path

from seekwise.control import attributes
from seekwise.errors import UsageError
from seekwise.linux.block_device import Stack
from seekwise.linux.setters.boot_line import single_queue
from seekwise.settings.forms.file import HEAD, File, Wanted, tree_of

GRUB_FOLDER = "/etc/default/grub.d"
LINE = "GRUB_CMDLINE_LINUX="


def file(wanted: Wanted, stack: Stack) -> File:
    """`elevator=` for a kernel that obeys it, else the schedulers' modules to load at the start. UsageError where
    neither is needed or possible."""
    schedulers = sorted({values["queue/scheduler"] for values in wanted.values() if "queue/scheduler" in values})
    if single_queue(stack) and schedulers:
        if len(schedulers) > 1:
            raise UsageError(
                f"the boot line sets one scheduler for all disks, not {' and '.join(schedulers)}",
                "`udev` sets each disk's own",
            )
        if tree_of(stack).exists(GRUB_FOLDER):
            return File(
                Path(GRUB_FOLDER) / "seekwise.cfg",
                f'{HEAD}{LINE}"${LINE.rstrip("=")} elevator={schedulers[0]}"\n',
                (
                    "takes effect after `update-grub` and a restart; run `update-grub` after `seekwise revert` too",
                    f"kernel {stack.kernel} sets it for all disks at once",
                ),
            )
        return File(
            Path("/etc/default/grub"),
            f"# Add this word to the kernel's command line (GRUB_CMDLINE_LINUX), then run update-grub:\nelevator={schedulers[0]}\n",
            (f"kernel {stack.kernel} sets it for all disks at once",),
        )
    modules = [module for name in schedulers if (module := _module(name, stack))]
    if not modules:
        raise UsageError(
            f"no module is needed at boot for {', '.join(schedulers) or 'these values'}",
            "`udev` sets the values",
        )
    notes = ("loads the module only: `udev` sets the values",)
    return File(Path("/etc/modules-load.d/seekwise.conf"), HEAD + "".join(f"{module}\n" for module in modules), notes)


def _module(scheduler: str, stack: Stack) -> str | None:
    """The module of a scheduler; of one that no table knows, the loaded module that bears its name."""
    if scheduler in attributes.SCHEDULER_MODULES:
        return attributes.SCHEDULER_MODULES[scheduler]
    name = scheduler.replace("-", "_")
    # A part that is compiled in may have a folder as well, without a state of loading.
    modules = (
        module for module in (name, f"{name}_iosched") if tree_of(stack).exists(f"/sys/module/{module}/initstate")
    )
    return next(modules, None)
