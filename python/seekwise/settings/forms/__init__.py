"""The same settings in the form that each reader understands: one module per form, each with `file(wanted, stack)`.

| form | file | read by |
|---|---|---|
| `sysfs` | a shell script | the user who runs it, now |
| `udev` | `/etc/udev/rules.d/65-seekwise.rules` | udev, whenever the drive appears; finds it by serial |
| `sysfs.conf` | `/etc/sysfs.d/seekwise.conf` | sysfsutils at boot; by kernel name |
| `boot` | `/etc/modules-load.d/seekwise.conf` | systemd at boot: loads the scheduler's module |
| `tuned` | `/etc/tuned/seekwise/tuned.conf` | TuneD, once `tuned-adm profile seekwise` chooses it |
| `ansible` | a playbook | Ansible; a second run changes nothing |
| `tw_cli` | a shell script | 3ware's tool: what acts on a unit of the controller |

Everything comes from the `Stack`, so a form for a captured machine is right for that machine.
"""

from __future__ import annotations

from collections.abc import Callable

from seekwise.control import kernel_faults, sysfs
from seekwise.errors import UsageError
from seekwise.linux.block_device import Stack
from seekwise.settings.forms import ansible, boot, controller, sysfs_conf, sysfs_script, tuned, udev
from seekwise.settings.forms.file import HEAD, File, Wanted

__all__ = ["FORMS", "HEAD", "PERSISTENT", "File", "Wanted"]


def _of_drives(form: str, make: Callable[[Wanted, Stack], File]) -> Callable[[Wanted, Stack], File]:
    """The form, which names drives; limits of the whole machine are refused with the lines that keep them."""

    def file(wanted: Wanted, stack: Stack) -> File:
        if limits := wanted.get(sysfs.SYSTEM):
            lines = ", ".join(f"`{sysfs.SYSTEM}.{name} = {value}`" for name, value in sorted(limits.items()))
            raise UsageError(
                f"{', '.join(sorted(limits))} acts on the whole machine, and the form {form} sets drives",
                hint=f"{lines} in a file below /etc/sysctl.d/ keeps it; `seekwise apply` without --persist sets it until the restart",
            )
        return _unbroken(make)(wanted, stack)

    return file


def _unbroken(make: Callable[[Wanted, Stack], File]) -> Callable[[Wanted, Stack], File]:
    """The form, refused where the machine's kernel breaks on a value, also on one that is in force now."""

    def file(wanted: Wanted, stack: Stack) -> File:
        for device, values in wanted.items():
            kernel_faults.refuse_at_start(device, stack.root / "sys/block" / device.replace("/", "!"), values)
        return make(wanted, stack)

    return file


FORMS: dict[str, Callable[[Wanted, Stack], File]] = {
    "sysfs": _unbroken(sysfs_script.file),
    "udev": _of_drives("udev", udev.file),
    "sysfs.conf": _of_drives("sysfs.conf", sysfs_conf.file),
    "boot": _of_drives("boot", boot.file),
    "tuned": _of_drives("tuned", tuned.file),
    "tw_cli": _of_drives("tw_cli", controller.file),
    "ansible": _of_drives("ansible", ansible.file),
}

PERSISTENT = {name: FORMS[name] for name in ("udev", "sysfs.conf", "boot", "tuned")}
"""Forms that `apply --persist` installs on this machine."""
