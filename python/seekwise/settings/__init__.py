"""From a verdict to a machine that is set that way, and back.

| module | what it holds |
|---|---|
| `lines` | the shell lines that set and undo values, ready to copy |
| `apply` | sets values until `seekwise revert` |
| `persist` | the same over a reboot: udev rule, sysfs.conf, module at boot, TuneD profile |
"""
