"""Serialised GVariants (GLib), as far as gnome-disks needs them: `a{sv}` with integers, doubles, strings and `a(td)`.

Layout: the GVariant specification. Values lie at multiples of their alignment. A container with elements of variable
size ends with the offsets at which each element ends, each as wide as the container's size requires (1, 2, 4 or 8
bytes). Everything is little-endian, as on every machine that gnome-disks runs on.
"""

from __future__ import annotations

import struct

BASIC = {"b": "<?", "y": "<B", "n": "<h", "q": "<H", "i": "<i", "u": "<I", "x": "<q", "t": "<Q", "d": "<d"}


class GVariantError(ValueError):
    """The bytes are no such variant."""


def vardict(data: bytes) -> dict[str, object]:
    """{key: value} of a serialised `a{sv}`."""
    found: dict[str, object] = {}
    for start, end in _elements(data, 8):
        entry = data[start:end]
        # {sv}: the end of the key is the only offset; the value begins at the next multiple of 8.
        width = _offset_width(len(entry))
        if len(entry) < width + 1:
            raise GVariantError("an entry is too short")
        key_end = int.from_bytes(entry[-width:], "little")
        if not 0 < key_end <= len(entry) - width or entry[key_end - 1] != 0:
            raise GVariantError("the name of an entry does not end")
        key = entry[: key_end - 1].decode("utf-8", errors="replace")
        found[key] = _variant(entry[-(-key_end // 8) * 8 : len(entry) - width])
    return found


def _variant(data: bytes) -> object:
    value, zero, kind = data.rpartition(b"\0")
    if not zero:
        raise GVariantError("a value has no type")
    signature = kind.decode("ascii", errors="replace")
    if signature in BASIC:
        size = struct.calcsize(BASIC[signature])
        if len(value) != size:
            raise GVariantError(f"a value of type {signature} has {len(value)} bytes instead of {size}")
        return struct.unpack(BASIC[signature], value)[0]
    if signature == "s":
        return value.rstrip(b"\0").decode("utf-8", errors="replace")
    if signature == "a(td)":
        if len(value) % 16:
            raise GVariantError(f"samples have {len(value)} bytes, no multiple of 16")
        return [struct.unpack_from("<Qd", value, place) for place in range(0, len(value), 16)]
    raise GVariantError(f"a value has the type {signature[:20]!r}, which is not expected")


def _elements(data: bytes, alignment: int) -> list[tuple[int, int]]:
    """(start, end) of the elements of an array of elements of variable size."""
    if not data:
        return []
    width = _offset_width(len(data))
    if len(data) < width:
        raise GVariantError("too short")
    table = int.from_bytes(data[-width:], "little")
    if table > len(data) - width or (len(data) - table) % width:
        raise GVariantError("the table of its entries lies outside of it")
    places, start = [], 0
    for place in range(table, len(data), width):
        end = int.from_bytes(data[place : place + width], "little")
        if not start <= end <= table:
            raise GVariantError("its entries overlap")
        places.append((start, end))
        start = -(-end // alignment) * alignment
    return places


def _offset_width(size: int) -> int:
    return next((width for width in (1, 2, 4) if size < 1 << (8 * width)), 8)
