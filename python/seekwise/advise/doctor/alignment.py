"""Partitions that do not begin on a boundary of the drive's physical sectors or of the array's stripe."""

from seekwise.advise.doctor.model import Finding, Machine

NAME = "alignment"


def check(machine: Machine):
    for device in machine.stack.devices.values():
        start = device.details.get("start_bytes")
        if device.kind != "partition" or not isinstance(start, int) or not device.below:
            continue
        disk = machine.stack.devices[device.below[0]]
        physical = disk.details.get("physical_block_bytes")
        offset = _number(disk.queue.get("alignment_offset"))
        if isinstance(physical, int) and physical > 512 and (start - offset) % physical:
            yield Finding(
                NAME,
                (device.name,),
                "wrong",
                f"{device.name} begins {(start - offset) % physical} bytes past a {physical}-byte sector of {disk.name}",
                (
                    f"/sys/class/block/{device.name}/start = {start // 512} (sectors of 512 bytes)",
                    f"/sys/block/{disk.name}/queue/physical_block_size = {physical}",
                ),
                ("# move the partition to a multiple of 2048 sectors: back up, repartition, restore",),
                "every small write makes the drive read and rewrite two sectors",
            )
            continue
        chunk = disk.details.get("chunk_bytes")
        striped = disk.kind == "md" and str(disk.details.get("level")) in ("raid0", "raid4", "raid5", "raid6", "raid10")
        if striped and isinstance(chunk, int) and start % chunk:
            yield Finding(
                NAME,
                (device.name,),
                "wrong",
                f"{device.name} begins {start % chunk // 1024} KiB past a chunk of {disk.name}",
                (
                    f"/sys/class/block/{device.name}/start = {start // 512} (sectors of 512 bytes)",
                    f"/sys/block/{disk.name}/md/chunk_size = {chunk}",
                ),
                ("# move the partition to a multiple of the chunk: back up, repartition, restore",),
                "requests of one chunk go to two members",
            )


def _number(text: str | None) -> int:
    return int(text) if text and text.isdigit() else 0
