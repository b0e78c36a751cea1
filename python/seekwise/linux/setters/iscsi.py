"""open-iscsi: `node.session.queue_depth` of a target's record is the queue depth of its LUNs when the session begins.

Records lie below /etc/iscsi/nodes or /var/lib/iscsi/nodes, as TARGET/ADDRESS/INTERFACE; /etc/iscsi/iscsid.conf is the
draft of new records and changes none that is there (iscsiadm(8)).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from seekwise.linux.setters import assignment
from seekwise.linux.setters.assignment import Setter
from seekwise.linux.setters.reading import Reading

NODES = ("/etc/iscsi/nodes", "/var/lib/iscsi/nodes")
DRAFT = "/etc/iscsi/iscsid.conf"
LINE = re.compile(r"\s*node\.session\.queue_depth\s*=\s*(\d{1,6})\s*")


def read(reading: Reading) -> Iterator[Setter]:
    """The depth of each iSCSI disk; uncertain where several records, or the draft alone, may have been the source."""
    disks = [device.name for device in reading.stack.devices.values() if device.transport == "iscsi"]
    records = list(_records(reading)) if disks else []
    for file in records or ([DRAFT] if disks else []):
        for number, line in enumerate(reading.text(file).splitlines(), 1):
            reading.spend(1)
            if match := LINE.fullmatch(line[:200]):
                rank = (assignment.BOOT, 3, file, number)
                for name in disks:
                    yield Setter("iscsi", file, number, name, "device/queue_depth", match[1], rank, len(records) == 1)


def _records(reading: Reading) -> Iterator[str]:
    for nodes in NODES:
        for target in reading.names(nodes)[:100]:
            for address in reading.names(f"{nodes}/{target}")[:20]:
                below = f"{nodes}/{target}/{address}"
                # Older records are files without a folder for the interface.
                yield from (f"{below}/{name}" for name in reading.names(below) or ())
                if not reading.names(below):
                    yield below
