"""The kernel as it is: block devices, what they stand on, mounts, settings and who sets them. It reads and never
writes.

Every reader takes the root of a file tree (`tree.py`), so that a captured machine reads like a live one.

blockdev.py, scsi.py, nvme.py, md.py, dm.py …  one module per kernel interface
block_device.py                   devices and stacks as plain data
stack.py                          the whole machine
resolve.py                        from a path to the devices below it
capture.py                        a machine as one file
document.py                       devices as JSON; in words: `report.devices`
setters/                          configuration files and services that set an attribute; one module per kind

Uses: no other room.
Start: `stack.read_stack`, `resolve.resolve_path`.
"""
