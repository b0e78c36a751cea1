"""The kernel backend: fio through the real kernel onto files or block devices of this machine."""
