"""What an ATA drive says of itself: the IDENTIFY DEVICE words in `/sys/class/ata_device/devX.Y/id` (since 2.6.37).

SCSI emulation shortens model to 16 and firmware to 4 characters and hides whether NCQ exists; the words do not.
Word numbers are those of the ATA Command Set (ACS-3, T13/2161-D, table of IDENTIFY DEVICE data).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from seekwise.linux.tree import Tree

WORD_COUNT = 256


def identify(tree: Tree, hardware: str | None, address: str) -> list[int] | None:
    """The words of the drive at SCSI `address` (`H:C:T:L`) below port `ataN`, or None."""
    port = re.match(r".*/ata(\d+)(/|$)", hardware or "")
    if port is None:
        return None
    number = port[1]
    _, channel, target, _ = (address.split(":") + ["0"] * 4)[:4]
    # Behind a port multiplier the SCSI channel is the multiplier's port; otherwise the target is the device
    # (libata-transport.c).
    for name in (f"dev{number}.{target}", f"dev{number}.{channel}.{target}", f"dev{number}.{channel}"):
        if words := parse(tree.text(f"/sys/class/ata_device/{name}/id")):
            return words
    return None


def parse(text: str | None) -> list[int] | None:
    """The words of a drive's identity from the kernel's text of hex words; None where it is missing, cut or empty."""
    try:
        words = [int(word, 16) for word in (text or "").split()]
    except ValueError:
        return None
    return words if len(words) == WORD_COUNT and any(words) and 0 <= min(words) <= max(words) <= 0xFFFF else None


def string(words: list[int], first: int, last: int) -> str | None:
    """Characters are stored two to a word, the first in the high byte."""
    raw = b"".join(word.to_bytes(2, "big") for word in words[first : last + 1])
    return raw.decode("ascii", "replace").strip("\0 ") or None


@dataclass(frozen=True)
class Identity:
    """What a drive says of itself; None: it does not say."""

    model: str | None
    firmware: str | None
    serial: str | None
    ncq_supported: bool
    ncq_depth: int | None
    look_ahead: bool | None
    rotation_rpm: int | None
    shingled: bool
    """The drive manages zones by itself; drives that do not say so may do it all the same."""


def identity(words: list[int]) -> Identity:
    """By word numbers of ATA8-ACS IDENTIFY DEVICE."""
    ncq_supported = words[76] not in (0, 0xFFFF) and bool(words[76] & 1 << 8)
    # Words 82 to 87 hold only if bit 14 of word 87 is set and bit 15 clear.
    features_hold = words[87] >> 14 == 0b01
    rate = words[217]
    return Identity(
        model=string(words, 27, 46),
        firmware=string(words, 23, 26),
        serial=string(words, 10, 19),
        ncq_supported=ncq_supported,
        ncq_depth=(words[75] & 0x1F) + 1 if ncq_supported else None,
        look_ahead=bool(words[85] & 1 << 6) if features_hold else None,
        rotation_rpm=rate if 0x0401 <= rate <= 0xFFFE else None,
        # ACS-4, word 69, bits 1:0: 01b host aware, 10b device managed.
        shingled=words[69] & 0b11 == 0b10,
    )
