"""A raw device is written only if it proves empty and its owner names it.

    with claimed(stack, "sdb", named=("S3Z9NB0K",)) as proof:
        ...     # proof.path, proof.test_offset_bytes, proof.test_size_bytes: what a load may write, and where
        proof.uses(size_bytes)

Proof: no process has it open exclusively, and while we hold it so no other can mount, assemble or swap on it until the end;
no mount, swap, holder or partition, on it or on what stands on it; no signature that wipefs or blkid knows; zeros in the
first and last MiB (`signatures`); the backing file of a loop device is used by no other. The load leaves the two MiB
at the ends alone, and what it used is zeroed afterwards, so that a tested device proves empty again.

Everything is refused with exit status 3 before anything is touched, and every reason is listed at once.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import re
import shlex
import shutil
import stat
import struct
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from seekwise import invocation
from seekwise.control import interrupt, notice, signatures, sysfs
from seekwise.control.process import proc_folder
from seekwise.errors import MissingError, RefusedError, UsageError
from seekwise.linux.block_device import BlockDevice, Mount, Stack

VIRTUAL_KINDS = frozenset({"null", "nbd", "ublk", "zram", "ram", "pmem", "virtio", "xen", "rbd"})
"""Without a serial their name is all there is. (zram, ram: content is lost at reboot anyway.)"""

CHOOSE_ANOTHER = "nothing was touched; choose a device that nothing uses, or a folder"

# Linux v6.12 include/uapi/linux/fs.h
BLKROGET = 0x125E
BLKGETSIZE64 = 0x80081272
ZERO_BYTES = 4 << 20
# Linux v6.12 include/uapi/linux/loop.h; struct loop_info64 begins with device and inode of the backing file
LOOP_GET_STATUS64 = 0x4C05
LOOP_INFO64_BYTES = 232


@dataclass(frozen=True)
class EmptyProof:
    """What was looked at, and where a load may write."""

    device: str
    node: Path
    size_bytes: int
    path: Path
    """The proven device itself, through our descriptor: a node may mean another device by the time that a load opens
    it."""
    _used: list[int] = field(default_factory=list)

    def uses(self, size_bytes: int) -> None:
        """A load may write this much from `test_offset_bytes` on: it is zeroed at the end."""
        self._used.append(min(size_bytes, self.test_size_bytes))

    @property
    def used_bytes(self) -> int:
        """The most that any load may have written, counted from `test_offset_bytes`: what is zeroed at the end."""
        return max(self._used, default=0)

    @property
    def test_offset_bytes(self) -> int:
        """The first MiB stays untouched: signatures and partition tables lie there."""
        return signatures.WINDOW_BYTES

    @property
    def test_size_bytes(self) -> int:
        """All but the first and the last MiB."""
        return self.size_bytes - 2 * signatures.WINDOW_BYTES


@contextlib.contextmanager
def claimed(stack: Stack, device: str, named: tuple[str, ...], root: Path = Path("/")) -> Iterator[EmptyProof]:
    """The device is ours alone while inside: named, proven empty, and held open exclusively."""
    allow_destroy(stack, device, named, root)
    with interrupt.stoppable():
        descriptor, proof = _prove(stack, device, root)
        try:
            yield proof
        finally:
            with interrupt.held():
                try:
                    _zero(proof)
                finally:
                    os.close(descriptor)


def _zero(proof: EmptyProof) -> None:
    """Zeroes what the load used. A drive that refuses has an error of its own to tell; then it does not prove empty.

    By writing: BLKZEROOUT and fallocate want the device exclusively, and we hold it so ourselves (Linux v6.12
    block/bdev.c truncate_bdev_range).
    """
    if not proof.used_bytes:
        return
    try:
        # Past the page cache where that is possible, so that it does not fill with zeros.
        descriptor = os.open(proof.path, os.O_RDWR | os.O_CLOEXEC | (os.O_DIRECT if _is_block(proof.path) else 0))
        try:
            with mmap.mmap(-1, ZERO_BYTES) as zeros:  # aligned, as direct I/O needs it
                start, end = proof.test_offset_bytes, proof.test_offset_bytes + proof.used_bytes
                while start < end:
                    with memoryview(zeros) as view, view[: min(ZERO_BYTES, end - start)] as part:
                        start += os.pwrite(descriptor, part, start)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        notice.warn(
            f"warning: {proof.node} keeps its test data ({error.strerror}): `blkdiscard -z {proof.node}` removes it"
        )


def _is_block(path: Path) -> bool:
    return stat.S_ISBLK(os.stat(path).st_mode)


def prove_empty(stack: Stack, device: str, root: Path = Path("/")) -> EmptyProof:
    """The proof alone, for a moment. To write, use `claimed`: it keeps the device."""
    descriptor, proof = _prove(stack, device, root)
    os.close(descriptor)
    return proof


def _prove(stack: Stack, device: str, root: Path) -> tuple[int, EmptyProof]:
    target = _device(stack, device)
    node = root / "dev" / target.name.replace("!", "/")
    reasons = [*_in_use(stack, target, root)]
    signature = target.signature
    content = [f"{signature.get('type', 'a known format')}, says udev"] if signature else []
    descriptor = None
    size_bytes = 0
    try:
        descriptor = os.open(node, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC)
        size_bytes = _size_bytes(descriptor)
        wrong = _wrong_node(target, descriptor, node, root) or _unsuited(target, descriptor, size_bytes)
        content += [] if wrong else _content(descriptor, node, size_bytes)
        reasons += wrong
        reasons += _backing(target, descriptor, stack, root)
    except MissingError:
        if descriptor is not None:
            os.close(descriptor)
        raise
    except FileNotFoundError:
        reasons.append(f"has no node {node}")
    except PermissionError as error:
        if not reasons and not content and os.geteuid() != 0:
            raise MissingError(f"{node} cannot be opened without root", invocation.with_sudo()) from error
        reasons.append(f"cannot be opened ({error.strerror})")
    except OSError as error:
        if error.errno == errno.EBUSY:
            reasons.append("is held open exclusively by the kernel or another program")
        else:
            reasons.append(f"cannot be read ({error.strerror})")
    if reasons or content:
        if descriptor is not None:
            os.close(descriptor)
        said = dict.fromkeys([*reasons, *(f"holds {holding}" for holding in content)])
        raise RefusedError(
            f"{target.name} does not prove empty: it {'; it '.join(said)}",
            CHOOSE_ANOTHER if reasons else f"if nothing of it is needed, zero it yourself: `blkdiscard -z {node}`",
        )
    assert descriptor is not None
    return descriptor, EmptyProof(target.name, node, size_bytes, Path(f"{proc_folder()}/fd/{descriptor}"))


def _in_use(stack: Stack, device: BlockDevice, root: Path) -> Iterator[str]:
    """Reasons from what the kernel tells about the device and all that stands on it."""
    if device.read_only:
        yield "is read-only"
    if device.details.get("hidden") or device.details.get("hidden_path"):
        yield "is one path of a multipath device"
    for name in _with_everything_above(stack, device.name):
        above = stack.devices[name]
        carries = "" if name == device.name else f"carries {above.kind} {name}, which "
        uses = [f"is mounted at {mount.mount_point}" for mount in stack.mounts if _is_source(mount, above)]
        uses += ["is used as swap" for swap in stack.swaps if swap in _nodes(above)]
        uses += [f"belongs to the btrfs filesystem {uuid}" for uuid, members in stack.btrfs.items() if name in members]
        yield from (carries + use for use in uses)
        if carries and not uses:
            yield carries.removesuffix(", which ")
    # Fresh from sysfs: the stack may have been read a while ago.
    folder = root / "sys/class/block" / device.name
    for holder in sorted(path.name for path in (folder / "holders").glob("*")):
        yield f"is held by {holder}"
    for partition in sorted(path.parent.name for path in folder.glob("*/partition")):
        yield f"has the partition {partition}"
    if sysfs.read(folder / "ro") == "1":
        yield "is read-only"
    if root == Path("/"):
        for pid, program in _openers(device):
            yield f"is open in process {pid} ({program})"


def _openers(device: BlockDevice) -> list[tuple[int, str]]:
    """Processes that have the device open without claiming it, as virtual machines and databases do."""
    # The thread that serves an nbd device, without which there is none; no other process has it.
    server = sysfs.read(Path("/sys/block") / device.name / "pid")
    return _having_open(lambda each: stat.S_ISBLK(each.st_mode) and number(each) == device.major_minor, server)


def number(status: os.stat_result) -> str:
    """The device's number of a node, as sysfs writes it."""
    return f"{os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"


def _having_open(is_it: Callable[[os.stat_result], bool], except_thread: str | None = None) -> list[tuple[int, str]]:
    """Looked at twice: udev opens a device for a moment whenever something happens to it."""
    openers = having_open_now(is_it, except_thread)
    if openers:
        time.sleep(0.3)
        openers &= having_open_now(is_it, except_thread)
    return sorted(openers)


def having_open_now(is_it: Callable[[os.stat_result], bool], except_thread: str | None = None) -> set[tuple[int, str]]:
    """Processes, with their names, that have such a file open, as far as this user sees them."""
    openers = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if except_thread and (folder / "task" / except_thread).exists():
                continue
            for link in os.scandir(folder / "fd"):
                try:
                    if is_it(link.stat()):
                        openers.add((int(folder.name), (folder / "comm").read_text(errors="replace").strip()))
                except OSError:
                    continue  # closed meanwhile: the others still count
        except OSError:
            continue
    return openers


def _is_source(mount: Mount, device: BlockDevice) -> bool:
    return mount.major_minor == device.major_minor or mount.source in _nodes(device)


def _unsuited(device: BlockDevice, descriptor: int, size_bytes: int) -> list[str]:
    """Why it cannot be written, whatever it holds."""
    reasons = []
    if size_bytes < 4 * signatures.WINDOW_BYTES:
        reasons.append(f"is too small ({size_bytes} bytes): less than 4 MiB")
    if _is_read_only(descriptor):
        reasons.append("is read-only")
    if device.details.get("zoned"):
        reasons.append("is a zoned device, which this version does not write")
    return reasons


def _content(descriptor: int, node: Path, size_bytes: int) -> list[str]:
    """What it holds."""
    signs = signatures.signatures_on(str(node))
    if signs or signatures.read_windows(descriptor, size_bytes).all_zero:
        return signs
    return ["data without a known signature in its first or last MiB"]


def _wrong_node(device: BlockDevice, descriptor: int, node: Path, root: Path) -> list[str]:
    """The node in /dev must be the device that sysfs told us about. (Below another root it is an ordinary file.)"""
    status = os.fstat(descriptor)
    if root != Path("/"):
        return []
    if not stat.S_ISBLK(status.st_mode):
        return [f"has a node {node} that is no block device"]
    if number(status) == device.major_minor:
        return []
    return [f"has a node {node} that is another device ({number(status)})"]


def _backing(device: BlockDevice, descriptor: int, stack: Stack, root: Path) -> list[str]:
    """What speaks against writing to the file below a loop device: others use it, or it is not the file of that name."""
    if device.kind != "loop" or not device.backing_file or root != Path("/"):
        return []
    info = fcntl.ioctl(descriptor, LOOP_GET_STATUS64, bytes(LOOP_INFO64_BYTES))
    _, st_ino = struct.unpack_from("2Q", info)
    path = Path(device.backing_file)
    try:
        status = os.stat(path)
    except OSError:
        return [f"stands on {path}, which is not there any more"]
    if status.st_ino != st_ino:
        return [f"stands on another file than {path} is by now"]
    reasons = []
    for other in stack.devices.values():
        if other.kind == "loop" and other.name != device.name and other.backing_file == device.backing_file:
            reasons.append(f"shares its backing file with {other.name}")
    if not stat.S_ISREG(status.st_mode):
        return reasons
    for pid, program in _having_open(lambda each: (each.st_dev, each.st_ino) == (status.st_dev, status.st_ino)):
        reasons.append(f"stands on {path}, which is open in process {pid} ({program})")
    return reasons


def _size_bytes(descriptor: int) -> int:
    if not stat.S_ISBLK(os.fstat(descriptor).st_mode):
        return os.fstat(descriptor).st_size
    size_bytes: int = struct.unpack("Q", fcntl.ioctl(descriptor, BLKGETSIZE64, b"\0" * 8))[0]
    return size_bytes


def _is_read_only(descriptor: int) -> bool:
    if not stat.S_ISBLK(os.fstat(descriptor).st_mode):
        return False
    return bool(struct.unpack("i", fcntl.ioctl(descriptor, BLKROGET, b"\0" * 4))[0])


def _with_everything_above(stack: Stack, name: str) -> list[str]:
    seen, todo = [], [name]
    while todo:
        current = todo.pop(0)
        if current not in seen:
            seen.append(current)
            todo += [device.name for device in stack.above(current)]
    return seen


def _nodes(device: BlockDevice) -> set[str]:
    names = {f"/dev/{device.name.replace('!', '/')}", *device.links}
    if mapping := device.details.get("dm_name"):
        names.add(f"/dev/mapper/{mapping}")
    return names


def _device(stack: Stack, device: str) -> BlockDevice:
    name = device.removeprefix("/dev/").replace("/", "!")
    if name not in stack.devices:
        raise UsageError(f"no block device is called {device}", "`seekwise devices` lists them")
    return stack.devices[name]


def allow_destroy(stack: Stack, device: str, named: tuple[str, ...], root: Path = Path("/")) -> None:
    """Refuses unless one of `named` is this very device's own name in the sense of `identifiers`."""
    target = _device(stack, device)
    accepted = identifiers(stack, target)
    for name in named:
        if name in accepted or _is_link_to(name, target, root):
            return
        if target.kind == "loop" and target.backing_file and _same_path(name, target.backing_file):
            return
        if target.kind == "md" and _hex_digits(name) and _hex_digits(name) in map(_hex_digits, accepted):
            return
    twins = _twins(stack, target)
    if not named:
        what = "--destroy does not name it"
    elif twins and target.serial in named:
        what = f"the serial {target.serial} is also that of {', '.join(twins)}"
    else:
        what = f"--destroy {' '.join(map(shlex.quote, named))} is not its name"
    if reasons := list(dict.fromkeys(_in_use(stack, target, root))):
        # A user who is told how to name a device in use might do it.
        raise RefusedError(f"{target.name} is not overwritten: it {'; it '.join(reasons)}; {what}", CHOOSE_ANOTHER)
    if accepted:
        hint = f"if all its content may be destroyed: `--destroy {shlex.quote(accepted[0])}`"
    else:
        hint = "it has neither serial nor UUID nor by-id path of its own: seekwise does not write to it"
    raise RefusedError(f"{target.name} would be overwritten, and {what}", hint)


def identifiers(stack: Stack, device: BlockDevice) -> tuple[str, ...]:
    """What confirms this device in `--destroy`, the usual one first."""
    links = tuple(link for link in device.links if re.match(r"/dev/disk/by-(id|partuuid)/", link))
    if device.kind == "partition":
        return links
    if device.kind == "loop":
        return tuple(text for text in (device.backing_file,) if text)
    if device.kind == "md" or "dm_name" in device.details:
        uuid = device.details.get("uuid") or _md_uuid(device) if device.kind == "md" else device.details.get("dm_uuid")
        return (*([str(uuid)] if uuid else []), *links)
    serial = (device.serial or "").strip()
    if serial and not _twins(stack, device):
        return (serial, *links)
    if links:
        return links
    return (device.name,) if device.kind in VIRTUAL_KINDS and not serial else ()


def _twins(stack: Stack, device: BlockDevice) -> list[str]:
    """Other whole devices with the same serial: the paths of one drive, or a careless hypervisor."""
    if not device.serial:
        return []
    return [
        other.name
        for other in stack.devices.values()
        if other.serial == device.serial and other.name != device.name and not other.below
    ]


def _is_link_to(name: str, device: BlockDevice, root: Path) -> bool:
    """A path in by-id (by-partuuid for a partition) that leads to this device now."""
    if not re.match(r"/dev/disk/by-(id|partuuid)/[^/]+$", name):
        return False
    link = root / name.lstrip("/")
    if root == Path("/"):
        # By number: what a link of that name leads to counts, not how its target is called.
        try:
            status = os.stat(link)
        except OSError:
            return False
        return stat.S_ISBLK(status.st_mode) and number(status) == device.major_minor
    return link.is_symlink() and Path(os.readlink(link)).name == device.name.rpartition("!")[2]


def _same_path(one: str, other: str) -> bool:
    return os.path.isabs(one) and os.path.realpath(one) == os.path.realpath(other)


def _md_uuid(device: BlockDevice) -> str | None:
    """From mdadm: sysfs tells an array's UUID only on newer kernels."""
    mdadm = shutil.which("mdadm") or shutil.which("mdadm", path="/usr/sbin:/sbin")
    if mdadm is None:
        return None
    done = subprocess.run(
        [mdadm, "--detail", "--export", f"/dev/{device.name}"], capture_output=True, text=True, check=False, timeout=60
    )
    return next((line.partition("=")[2] for line in done.stdout.splitlines() if line.startswith("MD_UUID=")), None)


def _hex_digits(uuid: str) -> str:
    """`4ae1:03b2…` as mdadm writes it and `4ae1-03b2-…` as sysfs does are one UUID of 32 digits."""
    text = re.sub(r"[-:]", "", uuid).lower()
    return text if re.fullmatch(r"[0-9a-f]{32}", text) else ""
