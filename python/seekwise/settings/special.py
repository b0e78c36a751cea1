"""Storage whose settings mean less, or something else, than those of a local drive: guests, USB bridges, ZFS, zoned
drives, in one sentence each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from seekwise.linux.block_device import BlockDevice
from seekwise.linux.guest import hypervisor
from seekwise.linux.setters import Setter
from seekwise.linux.storage_kind import san_by
from seekwise.linux.tree import Tree
from seekwise.number_text import listed
from seekwise.report.device_words import zoned_as

MEMORY = ("zram", "ram", "null", "pmem")
VIRTUAL_TRANSPORTS = frozenset({"virtio", "virtio-scsi", "hyper-v", "vmware", "xen"})


def is_virtual(device: BlockDevice) -> bool:
    """Whether a hypervisor serves the disk."""
    return device.kind in ("virtio", "xen") or device.transport in VIRTUAL_TRANSPORTS


def twice_scheduled(device: BlockDevice, tree: Tree) -> str:
    """Of a disk of a guest, that the host schedules its requests once more; empty of others."""
    if is_virtual(device):
        by = "Xen" if device.kind == "xen" else hypervisor(tree)
        return f"the host{f' ({by})' if by and by != 'a hypervisor' else ''} schedules these requests once more"
    return ""


def usb_depth(device: BlockDevice) -> str:
    """How many commands a USB bridge takes at once: with UAS several, without it one (Linux drivers/usb/storage)."""
    if device.driver == "uas":
        return "USB with UAS: the bridge takes several commands at once"
    if device.driver == "usb-storage":
        return "USB without UAS: one command at a time, whatever the scheduler sends"
    return ""


def without_uas(device: BlockDevice, setters: Iterable[Setter]) -> str:
    """The line that keeps UAS away from a USB drive; empty where none is known."""
    found = (setter for setter in setters if (setter.device, setter.attribute) == (device.name, "device/queue_depth"))
    of_modules = next((setter for setter in found if setter.kind in ("boot", "modprobe")), None)
    return (
        f"UAS is off by usb-storage.quirks or a blacklist: {of_modules.text}"
        if of_modules and device.transport == "usb"
        else ""
    )


def unseen(devices: Sequence[BlockDevice], tree: Tree, setters: Sequence[Setter] = ()) -> list[str]:
    """What cannot be examined from here, and what bounds the drives whatever is set: disks of a guest, USB bridges that
    take one command at a time."""
    said = []
    guests = [device for device in devices if is_virtual(device)]
    if guests:
        said.append(
            f"the drives behind {listed([guest.name for guest in guests])}: {twice_scheduled(guests[0], tree)}, under limits and on storage that "
            "a guest does not see; `seekwise doctor PATH --watch 30s` here and on the host tells whose queue is long"
        )
    for device in devices:
        if device.transport != "usb" or device.driver != "usb-storage":
            continue
        why = (
            without_uas(device, setters)
            or "`lsusb -t` names the driver; `dmesg | grep -i uas` says where the kernel turned it off"
        )
        said.append(
            f"whether {device.name} could be faster: {usb_depth(device)}; a bridge, cable and port with UAS take several ({why})"
        )
    shingled = [
        device.name for device in devices if zoned_as(device) in ("device-managed zones (SMR)", "host-aware zones")
    ]
    if shingled:
        said.append(
            f"how long writes to {listed(shingled)} take: the drive rewrites overlapping tracks (SMR) when its cache area is full, and no setting of Linux "
            "moves that moment"
        )
    return said


ZFS_MEMBER = "a drive of ZFS, which sorts and limits its requests itself (zfs(4)): keep `none`, as OpenZFS advises; a scheduler below sorts them once more"


def instead_of_evidence(device: BlockDevice) -> str | None:
    """What can be said of a drive of a class without evidence of its own; None of others."""
    if device.details.get("zoned") == "host-managed":
        return (
            "a drive with host-managed zones takes the writes of a zone in order only: before Linux 6.10 mq-deadline keeps it and no other scheduler may "
            "be set; since then the block layer keeps it under any"
        )
    if device.kind in MEMORY:
        return "it is memory: no request waits for a drive, so no scheduler and no read-ahead makes it faster"
    if device.kind == "zvol":
        return (
            "a volume of ZFS, which sorts and limits the requests to its drives; the volume has no scheduler of its own"
        )
    if (network := san_by(device)) is not None:
        return (
            f"a volume of another machine ({network}), which schedules its requests once more: `none` costs the least processor time here; a scheduler only "
            "keeps this machine's own programs from disturbing each other"
        )
    if is_virtual(device):
        return (
            "a disk of a guest: what lies behind it, and its scheduler, is the host's. `none` costs the least processor time and leaves the order to "
            "the host; a scheduler here only helps where this guest's own programs disturb each other (bfq, or mq-deadline, keeps reads from waiting "
            "behind writes). A guest cannot see whether the host's drive rotates: `rotational` is what the host says"
        )
    if device.transport == "usb":
        depth = usb_depth(device)
        one = (
            "one command at a time leaves the drive nothing to order, so the scheduler's order is the order"
            if device.driver == "usb-storage"
            else ""
        )
        return (
            "a USB drive: the bridge says that everything rotates, or nothing does, so the medium is not known"
            + (f"; {depth}" if depth else "")
            + (
                f"; {one}: mq-deadline for one program, bfq where several share it"
                if one
                else "; the drive inside it decides"
            )
        )
    return None
