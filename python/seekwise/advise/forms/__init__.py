"""The same settings in the form that each reader understands: one module per form, each with `file(wanted, stack)`.

| form | file | read by |
|---|---|---|
| `sysfs` | a shell script | whoever runs it, now |
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

from seekwise.advise.forms import ansible, boot, controller, sysfs_conf, sysfs_script, tuned, udev
from seekwise.advise.forms.model import HEAD, File, Wanted
from seekwise.linux.model import Stack

__all__ = ["FORMS", "HEAD", "PERSISTENT", "File", "Wanted"]

FORMS: dict[str, Callable[[Wanted, Stack], File]] = {
    "sysfs": sysfs_script.file,
    "udev": udev.file,
    "sysfs.conf": sysfs_conf.file,
    "boot": boot.file,
    "tuned": tuned.file,
    "tw_cli": controller.file,
    "ansible": ansible.file,
}

PERSISTENT = {name: FORMS[name] for name in ("udev", "sysfs.conf", "boot", "tuned")}
"""Forms that `apply --persist` installs on this machine."""
