"""The stream of a tar archive, bounded: `tarfile` reads headers of any length at once, and a few kilobytes unpack to
gigabytes."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from seekwise import bounds

# Magic numbers: RFC 1952 (gzip), bzip2's format, the .xz file format 1.0.4.
FORMATS: dict[bytes, Callable[[BinaryIO], io.BufferedIOBase]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
EMPTY_READS = 8
"""How often what reads headers may ask again after the end; it would ask for ever."""


class TooLarge(Exception):
    """What is more than any capture is, as the end of a sentence."""


class Bounded(io.RawIOBase):
    """A stream that ends with `TooLarge` where an archive is not a capture."""

    def __init__(self, inner: BinaryIO | io.BufferedIOBase) -> None:
        self._inner = inner
        self._header_bytes = self._empty = 0
        self._is_content = False

    def next_member(self) -> None:
        """The bound on header bytes starts over with each member."""
        self._header_bytes = 0

    @contextlib.contextmanager
    def content(self) -> Iterator[None]:
        """What is read inside is the content of a member, which has its own bound."""
        self._is_content = True
        try:
            yield
        finally:
            self._is_content = False

    def read(self, size: int = -1) -> bytes:
        """Raises TooLarge past the bound on headers or content, EOFError when asked again and again after the end."""
        if not self._is_content:
            self._header_bytes += size
            if size < 0 or self._header_bytes > bounds.CAPTURE_HEADER_BYTES:
                raise TooLarge(f"what it says of a member has more than {bounds.CAPTURE_HEADER_BYTES >> 10} KiB")
        data = self._inner.read(size)
        self._empty = 0 if data else self._empty + 1
        if self._empty > EMPTY_READS:
            raise EOFError
        self._look()
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        """The new position in bytes; raises TooLarge beyond the largest capture (256 MiB unpacked)."""
        if whence == 0 and offset > bounds.CAPTURE_BYTES:
            raise TooLarge(f"it has more than {bounds.CAPTURE_BYTES >> 20} MiB")
        place = self._inner.seek(offset, whence)
        self._look()
        return place

    def _look(self) -> None:
        if self._inner.tell() > bounds.CAPTURE_BYTES:
            raise TooLarge(f"it has more than {bounds.CAPTURE_BYTES >> 20} MiB")

    def tell(self) -> int:
        """Bytes of the unpacked stream."""
        return self._inner.tell()

    def readable(self) -> bool:
        """Always: `io.RawIOBase` says no by default."""
        return True

    def seekable(self) -> bool:
        """Always; `tarfile` skips members by seeking."""
        return True


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Bounded]:
    """The archive's stream, unpacked."""
    with path.open("rb") as raw:
        begins = raw.read(6)
        raw.seek(0)
        unpack = next((opener for magic, opener in FORMATS.items() if begins.startswith(magic)), None)
        if unpack is None:
            yield Bounded(raw)
            return
        with unpack(raw) as inner:
            yield Bounded(inner)
