"""Captures a machine: exactly those files that the reader reads, as a small tar archive.

The reader itself decides what belongs in: it runs over the live tree once while every file, link and folder it touches
is noted. So a capture can never lack what this version reads, nor hold more than that: no contents of users' files.
Names that people gave are in it: mount points, volume groups, labels, the servers of network mounts, and the host name
where an md array bears it. Anonymising replaces serials, servers and that host name; the other names stay.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import secrets
import tarfile
from collections.abc import Callable
from pathlib import Path

from seekwise import bounds
from seekwise.errors import SeekwiseError, reason
from seekwise.files import new_product
from seekwise.linux import ata, diskstats, facts, guest
from seekwise.linux.block_device import Stack
from seekwise.linux.setters import find_setters, tuned
from seekwise.linux.setters.reading import Reading
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import FolderTree, Tree

FORMAT = "seekwise.capture/1"
HOST_IN_MD_NAME = re.compile(rb"(md-name-|MD_NAME=|MD_DEVNAME=|\bmd/)[^:/\s]+(?=:\d)")
"""mdadm names an array `host:0`, and udev makes links of that."""
SERIAL_CHARACTERS_MIN = 6
"""Shorter serials (`1`, `none`) would be found inside unrelated words; they identify nothing either."""


class RecordingTree(FolderTree):
    """A tree that remembers what was read from it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.files: dict[str, bytes] = {}
        self.links: dict[str, str] = {}
        self.folders: set[str] = set()

    def resolve(self, path: str) -> str | None:
        """None where nothing is there; every link on the way is noted, so that the capture holds it."""
        # Link by link even on the live machine, so that each link on the way is noted.
        return Tree.resolve(self, path)

    def _kind(self, path: str) -> str | None:
        kind = super()._kind(path)
        if kind == "link":
            self.links[path] = super()._target(path)
        elif kind == "folder":
            self.folders.add(path)
        return kind

    def _bytes(self, path: str, most: int = bounds.CAPTURE_FILE_BYTES) -> bytes | None:
        content = super()._bytes(path, most)
        if content is not None:
            self.files[path] = content
        return content

    def _names(self, path: str) -> list[str]:
        names = super()._names(path)
        for name in names:
            # Listed links and folders are kept because their names are facts (slaves, holders); files only when read.
            self._kind(f"{path.rstrip('/')}/{name}")
        return names


def capture(archive: Path, *, anonymise: bool = False, root: Path = Path("/")) -> int:
    """Writes the capture and returns its size in bytes."""
    tree = RecordingTree(root)
    stack = read_stack(tree)
    diskstats.read(tree)
    for name in stack.devices:
        facts.temperature_celsius(tree, name)
    _configuration(tree, stack)
    about = {"schema": FORMAT, "kernel": stack.kernel, "anonymised": anonymise}
    change = _anonymiser(stack, tree) if anonymise else None
    try:
        # A half-written capture must not look like a whole one.
        with new_product(archive) as file, tarfile.open(fileobj=file, mode="w:gz", compresslevel=9) as tar:
            _add_file(tar, "capture.json", (json.dumps(about, indent=2) + "\n").encode())
            _add_all(tar, tree, change)
    except OSError as error:
        raise SeekwiseError(
            f"{archive} cannot be written: {reason(error)}", hint="give a file in a folder that you can write to"
        ) from error
    return archive.stat().st_size


BOOT_WORDS = re.compile(
    r"(?:elevator|libata\.\w+|scsi_mod\.\w+|nvme(?:_core)?\.\w+|usb-storage\.quirks|(?:module_|modprobe\.)blacklist)=\S+"
)


def _configuration(tree: RecordingTree, stack: Stack) -> None:
    """Files that set attributes of these devices: rule files, TuneD profiles. Scripts of the owner stay out.

    Of the boot line only the words about disks are kept.
    """
    for setter in find_setters(FolderTree(tree.root), stack):
        if setter.kind in ("udev", "sysfs.conf", "tmpfiles", "tlp", "mdadm"):
            tree.text(setter.file)
    tuned.merged_units(Reading(tree, stack), tuned.active_profiles(tree))
    tuned.runs(tree)
    # Of /proc/cpuinfo one word counts: whether this is a guest.
    is_guest = guest.hypervisor(tree) is not None
    tree.files["/proc/cpuinfo"] = b"flags\t\t: " + (b"hypervisor" if is_guest else b"none") + b"\n"
    line = tree.text("/proc/cmdline") or ""
    tree.files["/proc/cmdline"] = (" ".join(BOOT_WORDS.findall(line)) + "\n").encode()


def _add_all(tar: tarfile.TarFile, tree: RecordingTree, change: Callable[[str, bytes], bytes] | None) -> None:
    def text(value: str) -> str:
        return change("", value.encode()).decode() if change else value

    for path in sorted(tree.folders - {"/"}):
        info = tarfile.TarInfo(text(path).lstrip("/"))
        info.type, info.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(info)
    for path, target in sorted(tree.links.items()):
        info = tarfile.TarInfo(text(path).lstrip("/"))
        info.type, info.linkname = tarfile.SYMTYPE, text(target)
        if target.startswith("/"):
            # Relative, so that an unpacked capture stays inside its folder.
            info.linkname = os.path.relpath(text(target), os.path.dirname(text(path)))
        tar.addfile(info)
    for path, content in sorted(tree.files.items()):
        _add_file(tar, text(path).lstrip("/"), change(path, content) if change else content)


def _add_file(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o644
    tar.addfile(info, io.BytesIO(content))


def _anonymiser(stack: Stack, tree: RecordingTree) -> Callable[[str, bytes], bytes]:
    """A function that replaces every serial number and world-wide name, the same one always by the same other one,
    and the host in names of md arrays.

    Length and kind of character stay, because sizes are written beside them (VPD pages, IDENTIFY words). The key is
    random and forgotten: serials of drives are too few to be safe behind a plain hash.
    """
    key = secrets.token_bytes(32)
    secret: set[str] = set()
    for device in stack.devices.values():
        secret.update(str(value) for value in (device.serial, device.details.get("wwid")) if value)
    for content in tree.files.values():
        secret.update(
            match.decode()
            for match in re.findall(
                rb"E:(?:ID_SERIAL_SHORT|ID_SCSI_SERIAL|ID_WWN(?:_\w+)?|DM_SERIAL|DM_WWN)=([!-~]+)", content
            )
        )
    # A wwid such as `naa.5000c500…` appears elsewhere as `0x5000c500…` and `wwn-0x5000c500…`.
    secret |= {match for value in set(secret) for match in re.findall(r"[0-9a-fA-F]{16,}", value)}
    longest_first = sorted((value for value in secret if len(value) >= SERIAL_CHARACTERS_MIN), key=len, reverse=True)
    pattern = re.compile(b"|".join(re.escape(value.encode()) for value in longest_first)) if longest_first else None

    def other(match: re.Match[bytes]) -> bytes:
        return _disguised(match[0].decode("utf-8", "replace"), key).encode()

    def change(path: str, content: bytes) -> bytes:
        if (
            path.startswith("/sys/")
            and path.endswith("/id")
            and (words := ata.parse(content.decode("ascii", "replace")))
        ):
            return _identify_without_serial(words, key)
        if path.endswith("/mountinfo"):
            content = _without_servers(content)
        content = HOST_IN_MD_NAME.sub(rb"\1host", content)
        return pattern.sub(other, content) if pattern else content

    return change


def _without_servers(mountinfo: bytes) -> bytes:
    """Sources and options of filesystems without a local device name servers and users; only their kind is kept."""
    lines = []
    for line in mountinfo.decode("utf-8", "surrogateescape").splitlines():
        front, dash, back = line.partition(" - ")
        filesystem, _, rest = back.partition(" ")
        if dash and not rest.startswith("/dev/"):
            back = f"{filesystem} {filesystem} {'ro' if rest.split(' ')[-1].startswith('ro') else 'rw'}"
        lines.append(f"{front}{dash}{back}\n")
    return "".join(lines).encode("utf-8", "surrogateescape")


def _disguised(value: str, key: bytes) -> str:
    digest = hashlib.shake_256(key + value.encode()).digest(len(value))
    hexadecimal = re.fullmatch(r"(0x|naa\.|eui\.|uuid\.|nvme\.|t10\.)?[0-9a-f-]+", value)
    prefix = len(hexadecimal[1] or "") if hexadecimal else 0
    changed = []
    for index, (character, byte) in enumerate(zip(value, digest, strict=False)):
        if index < prefix or not character.isalnum() or not character.isascii():
            changed.append(character)
        elif hexadecimal and re.search("[a-f]", value[prefix:]):
            changed.append("0123456789abcdef"[byte % 16])
        elif character.isdigit():
            changed.append("0123456789"[byte % 10])
        else:
            letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
            changed.append((letters if character.isupper() else letters.lower())[byte % 26])
    return "".join(changed)


def _identify_without_serial(words: list[int], key: bytes) -> bytes:
    """IDENTIFY data with serial (words 10 to 19) and world-wide name (108 to 111) replaced, in the kernel's layout."""
    if serial := ata.string(words, 10, 19):
        padded = _disguised(serial, key).rjust(20).encode()
        words = [*words[:10], *(int.from_bytes(padded[at : at + 2], "big") for at in range(0, 20, 2)), *words[20:]]
    words = [*words[:108], *([0] * 4), *words[112:]]
    lines = [" ".join(f"{word:04x}" for word in words[at : at + 8]) for at in range(0, len(words), 8)]
    return ("\n".join(lines) + "\n").encode()
