"""What kind of storage a block device is, where that changes what its settings mean: local, a controller's unit, or a
volume in a SAN.

Network file systems (NAS) have no block device here; `resolve` refuses them by name.
"""

from __future__ import annotations

from seekwise.linux.block_device import BlockDevice

SAN_TRANSPORTS = {
    "fc": "Fibre Channel",
    "iscsi": "iSCSI",
    "nvme-fc": "NVMe over Fibre Channel",
    "nvme-rdma": "NVMe over RDMA",
    "nvme-tcp": "NVMe over TCP",
}
SAN_KINDS = {"nbd": "network block device", "rbd": "Ceph block device", "drbd": "DRBD", "aoe": "ATA over Ethernet"}


def storage_kind(device: BlockDevice) -> str | None:
    """`local`, `controller` or `san`; None for what stands on other devices or has none below (loop, zram, null)."""
    if san_by(device):
        return "san"
    if isinstance(device.details.get("controller"), dict):
        return "controller"
    return "local" if device.kind in ("disk", "nvme") and not device.below else None


def san_by(device: BlockDevice) -> str | None:
    """How the volume of another machine comes here; None when the device is no such volume."""
    return SAN_TRANSPORTS.get(device.transport or "") or SAN_KINDS.get(device.kind)
