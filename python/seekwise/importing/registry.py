"""Every format that can be imported: one row each, asked in this order."""

from __future__ import annotations

from seekwise.importing import (
    diskmark,
    fio_json,
    fio_logs,
    fio_terse,
    fio_text,
    gnome_disks,
    phoronix,
    sysbench,
    tiobench,
    tiotest,
    yabs,
)
from seekwise.importing.result import Format

FORMATS: tuple[Format, ...] = (
    gnome_disks.FORMAT, phoronix.FORMAT, yabs.FORMAT, fio_json.FORMAT, fio_text.FORMAT, fio_terse.FORMAT, diskmark.FORMAT, tiobench.FORMAT,
    tiotest.FORMAT, sysbench.FORMAT, fio_logs.FORMAT,
)  # fmt: skip
BY_NAME = {reader.name: reader for reader in FORMATS}
