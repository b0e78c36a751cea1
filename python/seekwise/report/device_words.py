"""One device in words: what it is, and how it is set. Used wherever the stack is shown to a person."""

from __future__ import annotations

from seekwise.linux.block_device import BlockDevice, passes_on

TRANSPORT_NAMES = {
    "sata": "SATA",
    "ata": "ATA",
    "sas": "SAS",
    "usb": "USB",
    "fc": "Fibre Channel",
    "iscsi": "iSCSI",
    "nvme": "NVMe",
    "nvme-tcp": "NVMe over TCP",
    "nvme-rdma": "NVMe over RDMA",
    "nvme-fc": "NVMe over Fibre Channel",
    "virtio": "virtio",
    "virtio-scsi": "virtio-scsi",
    "scsi-debug": "scsi_debug",
    "parallel-scsi": "parallel SCSI",
    "hyper-v": "Hyper-V",
    "xen": "Xen",
    "vmware": "VMware",
}

KIND_NAMES = {
    "lvm": "logical volume",
    "crypt": "dm-crypt",
    "multipath": "multipath",
    "dmraid": "dmraid",
    "dm": "device mapper",
    "null": "null_blk",
    "nbd": "network block device",
    "optical": "optical drive",
    "mmc": "SD card or eMMC",
}


ORDINARY_FLAGS = frozenset({"in_sync", "unknown", "external_bbl"})
"""Flags of an md member that say nothing a reader needs; `external_bbl` is about who keeps the bad-block list."""


def size_text(size_bytes: int) -> str:
    """Decimal units, as drives are sold: 1 TB is 10¹² bytes."""
    size = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if size < 1000 or unit == "PB":
            return f"{size:.0f} {unit}" if size >= 100 or unit == "B" else f"{size:.3g} {unit}"
        size /= 1000
    raise AssertionError


def kib_text(size_bytes: int) -> str:
    """`512 KiB`, `1536 KiB`, `2 MiB`: whole MiB where it comes out even."""
    return f"{size_bytes // 1024} KiB" if size_bytes < 1 << 20 or size_bytes % (1 << 20) else f"{size_bytes >> 20} MiB"


def identity(device: BlockDevice, *, full: bool = True) -> str:
    """`SATA hard disk ST2000NM0033, firmware SN04, serial Z1X0`; for arrays and mappings what they are.

    Not `full`: a drive without model, firmware and serial, for places where those stand beside it.
    """
    if device.kind == "md":
        return _md(device)
    words = {
        "partition": _partition,
        "lvm": _lvm,
        "crypt": lambda each: (
            f"dm-crypt {each.details.get('crypt_type', '')} {each.details.get('dm_name', '')}".strip()
        ),
        "multipath": _multipath,
        "loop": _loop,
        "bcache": _bcache,
    }.get(device.kind)
    if words:
        return words(device)
    if device.kind in ("dm", "dmraid", "vdo", "stratis"):
        return f"{KIND_NAMES.get(device.kind, device.kind)} {device.details.get('dm_name', '')}".strip()
    return _drive(device) if full else medium(device)


def _drive(device: BlockDevice) -> str:
    parts = [medium(device)]
    if device.model:
        parts[0] += f" {' '.join(device.model.split())}"
    if device.firmware:
        parts.append(f"firmware {device.firmware}")
    if device.serial:
        parts.append(f"serial {device.serial}")
    return ", ".join(parts)


def medium(device: BlockDevice) -> str:
    """`SATA hard disk`, `NVMe SSD`, `virtio disk`, `logical unit of megaraid_sas`."""
    controller = device.details.get("controller")
    if isinstance(controller, dict):
        level = str(controller["level"]).replace("RAID-", "RAID ") if "level" in controller else ""
        return f"{level} logical unit of {controller['driver']}".strip()
    if device.kind in KIND_NAMES:
        return KIND_NAMES[device.kind]
    if device.kind == "nvme":
        path = " path" if device.details.get("hidden_path") else " over several paths" if device.below else ""
        return f"{TRANSPORT_NAMES.get(device.transport or 'nvme', 'NVMe')}{path}"
    if device.kind not in ("disk", "virtio", "xen"):
        return device.kind
    transport = TRANSPORT_NAMES.get(device.transport or "", device.transport or "")
    # These say `rotational` because their driver does not know; calling them hard disks would be a guess.
    if device.kind in ("virtio", "xen") or device.transport in MEDIUM_UNKNOWN:
        return f"{transport} disk".strip()
    what = {True: "hard disk", False: "SSD", None: "disk"}[device.rotational]
    if rpm := device.details.get("rotation_rpm"):
        what = f"{what} {rpm} rpm"
    return f"{transport} {what}".strip()


def _md(device: BlockDevice) -> str:
    details = device.details
    if "container_of" in details:
        return f"container of {details['firmware_raid']}"
    level = str(details.get("level") or "inactive array")
    parts = ["RAID " + level.removeprefix("raid") if level.startswith("raid") else level]
    if layout := details.get("layout_name"):
        parts[0] += f" {layout}"
    # A mirror has no chunks; external metadata writes a number there all the same.
    if (chunk := details.get("chunk_bytes")) and level != "raid1":
        parts.append(f"chunk {kib_text(int(str(chunk)))}")
    members = details.get("members")
    if isinstance(members, list):
        parts.append(f"{details.get('raid_disks', len(members))} members")
    parts.append(sync_state(device))
    if "firmware_raid" in details:
        parts.append(f"firmware RAID {details['firmware_raid']}")
    return ", ".join(part for part in parts if part)


def sync_state(device: BlockDevice) -> str:
    """How an array stands: `degraded, recover 12.5%`, `in sync`; empty for levels without redundancy that are
    active."""
    details = device.details
    words = []
    if details.get("degraded"):
        words.append("degraded")
    action = details.get("sync_action")
    if action and action != "idle":
        done = details.get("sync_fraction")
        words.append(f"{action} {done:.1%}" if isinstance(done, float) else str(action))
    if not words and details.get("level") not in ("raid0", "linear", None):
        words.append("in sync")
    if details.get("array_state") in ("inactive", "clear", "readonly", "read-auto", "failed", "broken"):
        words.append(str(details["array_state"]))
    return ", ".join(words)


def member_state(array: BlockDevice, name: str) -> str | None:
    """The member's part or state, where there is more to say than that it is in sync."""
    if array.kind == "bcache":
        return "cache" if name in array.details.get("cache_devices", ()) else "backing device"
    members = array.details.get("members")
    for member in members if isinstance(members, list) else ():
        if member["name"] == name:
            flags = [flag for flag in str(member["state"]).split(",") if flag not in ORDINARY_FLAGS]
            return ", ".join(flags).replace("_", " ") or None
    return None


def _partition(device: BlockDevice) -> str:
    name = device.details.get("dm_name")
    return f"partition {name}" if name else "partition"


def _lvm(device: BlockDevice) -> str:
    group, volume = device.details.get("volume_group"), device.details.get("logical_volume")
    return (
        f"logical volume {group}/{volume}" if group else f"logical volume {device.details.get('dm_name', '')}".strip()
    )


def _multipath(device: BlockDevice) -> str:
    how = "request-based" if device.details.get("request_based") else "bio-based"
    return f"multipath {device.details.get('dm_name', '')}, {how}, {len(device.below)} paths"


def _loop(device: BlockDevice) -> str:
    if not device.backing_file:
        return "loop, not attached"
    gone = " (deleted)" if device.details.get("deleted") else ""
    path, shown = device.backing_file, device.backing_file[-LONGEST_FILE:]
    return f"loop on file {shown if shown == path else f'…{shown}'}{gone}"


LONGEST_FILE = 36
"""Characters of an image's path that are shown, from its end, which tells one image from another: a longer one would break in a table or a tree."""


def _bcache(device: BlockDevice) -> str:
    mode = device.details.get("cache_mode")
    return f"bcache, {mode}" if mode else "bcache"


MEDIUM_UNKNOWN = frozenset({"virtio-scsi", "scsi-debug", "hyper-v", "vmware", "usb", "fc", "iscsi"})


def zoned_as(device: BlockDevice) -> str:
    """`host-managed zones`, `device-managed zones (SMR)`; empty of a drive that is not known to have any."""
    if device.details.get("shingled"):
        return "device-managed zones (SMR)"
    return f"{device.details['zoned']} zones" if "zoned" in device.details else ""


def settings_lines(device: BlockDevice) -> list[tuple[str, str]]:
    """Label and value of each setting that the device has."""
    if passes_on(device):
        return _settings_passed_on(device)
    queue, lines = device.queue, []
    if device.scheduler:
        others = [name for name in device.schedulers_offered if name != device.scheduler]
        lines.append(("scheduler", device.scheduler + (f"   offered: {', '.join(others)}" if others else "")))
    if device.iosched:
        lines.append(("tunables", ", ".join(f"{name} {value}" for name, value in device.iosched.items())))
    depth = device.details.get("ncq")
    if isinstance(depth, dict):
        lines.append(("depth", f"queue_depth {device.queue_depth}: {depth['text']}"))
    elif device.queue_depth is not None:
        lines.append(("depth", f"queue_depth {device.queue_depth}"))
    elif entries := device.details.get("queue_entries"):
        count = device.details.get("io_queue_count")
        lines.append(
            ("depth", f"{entries} entries in each of {count} hardware queues" if count else f"{entries} entries")
        )
    words = []
    if queue.get("nr_requests"):
        words.append(f"nr_requests {queue['nr_requests']}")
    if queue.get("read_ahead_kb"):
        words.append(f"read-ahead {queue['read_ahead_kb']} KiB")
    for name in ("wbt_lat_usec", "nomerges", "rq_affinity"):
        if queue.get(name):
            words.append(f"{name} {queue[name]}")
    if words:
        lines.append(("queue", ", ".join(words)))
    words = []
    if device.rotational is not None:
        words.append("rotational" if device.rotational else "not rotational")
    if device.write_cache:
        words.append(f"cache {device.write_cache}")
    if zoned := zoned_as(device):
        words.append(zoned)
    sectors = (device.details.get("logical_block_bytes"), device.details.get("physical_block_bytes"))
    if sectors[0]:
        words.append(
            f"sectors {sectors[0]} B" + (f" (physical {sectors[1]} B)" if sectors[1] not in (None, sectors[0]) else "")
        )
    if device.driver:
        words.append(f"driver {device.driver}")
    if words:
        lines.append(("drive" if not device.below else "device", ", ".join(words)))
    return lines


def _settings_passed_on(device: BlockDevice) -> list[tuple[str, str]]:
    lines = []
    if ahead := device.queue.get("read_ahead_kb"):
        lines.append(("read-ahead", f"{ahead} KiB"))
    if cache := device.details.get("stripe_cache_size"):
        lines.append(("stripe cache", f"{cache} pages of each member"))
    if policy := device.details.get("path_policy"):
        lines.append(("paths", f"policy {policy}"))
    if lines:
        lines.append(("scheduler", "none of its own: the drives below schedule"))
    return lines
