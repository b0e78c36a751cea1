"""Partitions and arrays that do not begin on a boundary of the drive's physical sectors or of the array's stripe."""

from __future__ import annotations

from collections.abc import Iterator

from seekwise.linux.block_device import BlockDevice
from seekwise.settings.doctor.check import DoctorFinding, Machine

NAME = "alignment"

STRIPED = ("raid0", "raid4", "raid5", "raid6", "raid10")
FLASH_PAGE = 4096
"""Flash is written in pages of at least this size, also where the drive names 512 bytes as its physical sector."""
MOVE = "# move the partition to a multiple of 2048 sectors: back up, repartition, restore"
CREATE_ANEW = "# create the array anew: back up, create, restore"
TWO_SECTORS = "every small write makes the drive read and rewrite two sectors"


def check(machine: Machine) -> Iterator[DoctorFinding]:
    """Partitions and arrays that begin off a boundary."""
    for device in machine.stack.devices.values():
        if device.kind == "partition":
            yield from _partition(machine, device)
        else:
            yield from _array(machine, device)


def _partition(machine: Machine, device: BlockDevice) -> Iterator[DoctorFinding]:
    start = device.details.get("start_bytes")
    if not isinstance(start, int) or not device.below:
        return
    disk = machine.stack.devices[device.below[0]]
    physical = disk.details.get("physical_block_bytes")
    # Some drives begin their physical sectors elsewhere than at 0 (a jumper for old systems).
    past = start - max(0, machine.tree.number(f"/sys/block/{disk.name}/alignment_offset") or 0)
    where = f"/sys/class/block/{device.name}/start = {start // 512} (sectors of 512 bytes)"
    if isinstance(physical, int) and physical > 512 and past % physical:
        text = f"{device.name} begins {past % physical} bytes past a {physical}-byte sector of {disk.name}"
        evidence = (where, f"/sys/block/{disk.name}/queue/physical_block_size = {physical}")
        yield DoctorFinding(NAME, (device.name,), "wrong", text, evidence, (MOVE,), TWO_SECTORS)
        return
    chunk = disk.details.get("chunk_bytes")
    if _striped(disk) and isinstance(chunk, int) and start % chunk:
        text = f"{device.name} begins {start % chunk // 1024} KiB past a chunk of {disk.name}"
        evidence = (where, f"/sys/block/{disk.name}/md/chunk_size = {chunk}")
        mend = ("# move the partition to a multiple of the chunk: back up, repartition, restore",)
        yield DoctorFinding(
            NAME, (device.name,), "wrong", text, evidence, mend, "requests of one chunk go to two members"
        )
        return
    if disk.kind in ("disk", "nvme") and disk.rotational is False and past % FLASH_PAGE:
        text = f"{device.name} begins {past % FLASH_PAGE} bytes past a multiple of 4096 bytes on the SSD {disk.name}"
        evidence = (where, f"/sys/block/{disk.name}/queue/rotational = 0")
        cost = "a write of 4 KiB can touch two flash pages"
        yield DoctorFinding(NAME, (device.name,), "look", text, evidence, (MOVE,), cost)


def _array(machine: Machine, device: BlockDevice) -> Iterator[DoctorFinding]:
    members = [machine.stack.devices[name] for name in device.below if name in machine.stack.devices]
    physical = max(
        (size for part in members if isinstance(size := part.details.get("physical_block_bytes"), int)), default=512
    )
    chunk = device.details.get("chunk_bytes")
    if _striped(device) and isinstance(chunk, int) and chunk % physical:
        text = f"a chunk of {device.name} is {chunk} bytes, and its members have sectors of {physical} bytes"
        evidence = (f"/sys/block/{device.name}/md/chunk_size = {chunk}",)
        yield DoctorFinding(NAME, (device.name,), "wrong", text, evidence, (CREATE_ANEW,), TWO_SECTORS)
        return
    for member in members if device.kind == "md" else ():
        own = member.details.get("physical_block_bytes")
        file = f"/sys/block/{device.name}/md/dev-{member.name}/offset"
        offset = machine.tree.number(file)
        if offset is not None and isinstance(own, int) and offset * 512 % own:
            text = (
                f"the data of {device.name} begins {offset * 512 % own} bytes past a {own}-byte sector of {member.name}"
            )
            evidence = (f"{file} = {offset} (sectors of 512 bytes)",)
            yield DoctorFinding(NAME, (device.name,), "wrong", text, evidence, (CREATE_ANEW,), TWO_SECTORS)
            return
    # The kernel's own judgement of what is stacked: -1 (Documentation/ABI/stable/sysfs-block).
    if members and machine.tree.number(f"/sys/block/{device.name}/alignment_offset") == -1:
        text = f"{device.name} does not lie on the sector boundaries of what is below it ({', '.join(device.below)})"
        evidence = (f"/sys/block/{device.name}/alignment_offset = -1",)
        mend = ("# create it anew with an aligned data offset: back up, create, restore",)
        yield DoctorFinding(NAME, (device.name,), "wrong", text, evidence, mend, TWO_SECTORS)


def _striped(device: BlockDevice) -> bool:
    return device.kind == "md" and str(device.details.get("level")) in STRIPED
