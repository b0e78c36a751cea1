"""What an ATA drive says of itself: the IDENTIFY DEVICE words in `/sys/class/ata_device/devX.Y/id` (since 2.6.37).

SCSI emulation shortens model to 16 and firmware to 4 characters and hides whether NCQ exists; the words do not.
Word numbers are those of the ATA Command Set (ACS-3, T13/2161-D, table of IDENTIFY DEVICE data).
"""

from __future__ import annotations

import re

from seekwise.linux.tree import Tree

WORD_COUNT = 256


def identify(tree: Tree, hardware: str | None, address: str) -> list[int] | None:
    """The words of the drive at SCSI `address` (`H:C:T:L`) below port `ataN`, or None."""
    port = re.match(r"(.*/ata\d+)(/|$)", hardware or "")
    if port is None:
        return None
    number = re.search(r"(\d+)$", port[1])[1]
    _, channel, target, _ = (address.split(":") + ["0"] * 4)[:4]
    # Behind a port multiplier the SCSI channel is the multiplier's port; otherwise the target is the device (libata-transport.c).
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


def facts(words: list[int]) -> dict[str, object]:
    """Serial, firmware, model, NCQ and its depth, look-ahead and rotation (rpm) by word numbers of ATA8-ACS IDENTIFY DEVICE."""
    found: dict[str, object] = {
        "ata_serial": string(words, 10, 19),
        "ata_firmware": string(words, 23, 26),
        "ata_model": string(words, 27, 46),
        # Words 82 to 87 hold only if bit 14 of word 87 is set and bit 15 clear.
        "ncq_supported": words[76] not in (0, 0xFFFF) and bool(words[76] & 1 << 8),
    }
    if found["ncq_supported"]:
        found["ncq_depth"] = (words[75] & 0x1F) + 1
    if words[87] >> 14 == 0b01:
        found["look_ahead"] = bool(words[85] & 1 << 6)
    rate = words[217]
    if 0x0401 <= rate <= 0xFFFE:
        found["rotation_rpm"] = rate
    return found
