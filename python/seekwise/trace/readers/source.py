"""Lines of a file, plain, gzip or zstd, with bounded length and the place of each; and the cut at the end, if there is
one."""

from __future__ import annotations

import gzip
import io
import itertools
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Self

import numpy as np

from seekwise import zstd
from seekwise.trace.assemble import Assembler
from seekwise.trace.columns import Notes, Rows, TraceError

HEAD_BYTES = 65_536
LINE_MAX = 8192
UNPACKED_BYTES = 64 << 20
UNPACKED_TIMES = 200
"""Text traces shrink 5 to 40 times with zstd."""
WINDOW_MAX = 128 << 20


def opened(path: Path) -> BinaryIO:
    """The content of a file, uncompressed."""
    try:
        if not path.is_file():
            said = "is no regular file" if path.exists() else "there is no such file"
            raise TraceError(f"{path}: {said}", "name a trace; `seekwise record DEVICE` makes one")
        raw = path.open("rb")
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from None
    magic = raw.read(4)
    raw.seek(0)
    if magic[:2] == b"\x1f\x8b":
        return io.BufferedReader(_Unpacked(path, gzip.GzipFile(fileobj=raw)))
    if magic == b"\x28\xb5\x2f\xfd":
        return io.BufferedReader(_Unpacked(path, zstd.stream(raw, WINDOW_MAX)))
    return raw


class _Unpacked(io.RawIOBase):
    """What a compressed file holds, up to what any trace can hold: nobody waits for one that grows without an end."""

    def __init__(self, path: Path, content: io.BufferedIOBase) -> None:
        self.path, self._content = path, content
        self.most = max(UNPACKED_BYTES, UNPACKED_TIMES * path.stat().st_size)
        self.count = 0

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """As of any raw stream. TraceError past the bound."""
        data = self._content.read1(len(buffer))
        buffer[: len(data)] = data
        self.count += len(data)
        if self.count > self.most:
            raise TraceError(
                f"{self.path}: unpacks to more than {UNPACKED_TIMES} times its size, which no trace does",
                f"traces shrink to a tenth or so; up to {UNPACKED_BYTES >> 20} MiB are read whatever the size",
            )
        return len(data)

    def close(self) -> None:
        """Closes the compressed file, too."""
        self._content.close()
        super().close()


CUT_ERRORS = (EOFError,)
BROKEN_ERRORS = (zlib.error, gzip.BadGzipFile, zstd.ZstdError, OSError)


def head_of(path: Path) -> bytes:
    """The first bytes, uncompressed; as many as there are before a cut."""
    with opened(path) as content:
        head = b""
        try:
            while len(head) < HEAD_BYTES and (more := content.read(HEAD_BYTES - len(head))):
                head += more
        except CUT_ERRORS:
            pass
        except BROKEN_ERRORS as error:
            if not head:
                raise TraceError(f"{path}: cannot be unpacked: {getattr(error, 'strerror', None) or error}") from None
        return head


def first_lines(head: bytes, count: int = 20) -> list[str]:
    """The first whole lines that are not empty."""
    lines = head.split(b"\n")
    if len(head) >= HEAD_BYTES:
        lines = lines[:-1]
    texts = (line[:LINE_MAX].decode("utf-8", "replace").strip() for line in lines if line.strip())
    return [tamed(text) for text in itertools.islice(texts, count)]


_GAP = re.compile(r"[ \t]{3,}")
TAMED = 400
"""Lines of real traces are shorter."""


def tamed(line: str) -> str:
    """A line whose long gaps are short: patterns with several of them try every way to share a gap between them."""
    return line if len(line) < TAMED else _GAP.sub("  ", line)


class Lines:
    """Lines with their numbers. Iterating stops at the end or at the cut; `fail` raises an error that names the
    place."""

    def __init__(self, path: Path, notes: Notes) -> None:
        self.path, self.notes = path, notes
        self.number = 0
        self.whole = True
        """The line at hand ended with a line feed: what is wrong with it is not a cut."""
        self.prose = True
        """Words may follow that are no event: at the start of the file, behind an empty line and behind a fence of Markdown."""
        self._content = opened(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._content.close()

    def __iter__(self) -> Iterator[str]:
        while True:
            try:
                line = self._content.readline(LINE_MAX)
            except CUT_ERRORS:
                self.cut()
                return
            except BROKEN_ERRORS as error:
                self.number += 1
                raise self.problem(f"cannot be unpacked: {getattr(error, 'strerror', None) or error}") from None
            if not line:
                if not self.whole and not self.notes.truncated:
                    self.notes.sentences.append("The last line has no line end; it may be cut short")
                return
            self.number += 1
            self.whole = line.endswith(b"\n")
            if not self.whole and len(line) >= LINE_MAX:
                raise self.problem(f"longer than {LINE_MAX} bytes")
            if b"\0" in line:
                raise self.problem("is not text")
            yield tamed(line.decode("utf-8", "replace").rstrip("\r\n"))

    def is_prose(self, line: str) -> bool:
        """Whether a line that is no event is passed over; a reader says `prose = False` at each event."""
        self.prose = self.prose or not line.strip() or line.strip().startswith("```")
        return self.prose

    def cut(self) -> None:
        """Notes that the trace ends here; not an error, since recorders get killed."""
        self.notes.truncated = f"cut off at line {self.number + (1 if self.whole else 0):,}"

    def problem(self, what: str, hint: str | None = None) -> TraceError:
        """The error (exit status 2) for the caller to raise, naming file and line."""
        return TraceError(f"{self.path}, line {self.number:,}: {what}", hint)

    def wrong(self, line: str, expected: str) -> bool:
        """For a line that cannot be read: True if it is only the cut end of the file; raises otherwise."""
        if not self.whole:
            self.cut()
            return True
        shown = line.strip()[:60]
        raise self.problem(f"`{shown}` is not `{expected}`")

    def rows(
        self, parse: Callable[[str, Rows], bool], expected: str, skip: Callable[[str], bool]
    ) -> Iterator[np.ndarray]:
        """Chunks of a format with a request a line; `parse` adds a row and says whether the chunk is full."""
        rows = Rows()
        for line in self:
            if not line.strip() or skip(line):
                continue
            try:
                full = parse(line, rows)
            except TraceError as error:
                if not self.whole and rows.count:
                    self.cut()
                    break
                raise self.problem(error.message, error.hint) from None
            except (ValueError, IndexError, OverflowError):
                if self.wrong(line, expected):
                    break
            else:
                if full:
                    yield rows.take()
        if not rows.count:
            raise TraceError(f"{self.path}: has no requests")
        yield rows.take()


SECTOR_LIMIT = 1 << 48
LENGTH_LIMIT = 1 << 32


def checked(arrival_ns: int, sector: int, sectors: int) -> None:
    """Refuses what no device can have been asked for."""
    if not 0 <= sector < SECTOR_LIMIT or not 0 <= sectors < LENGTH_LIMIT:
        raise TraceError(f"{sectors} sectors from {sector} cannot be")
    if not -(1 << 62) < arrival_ns < 1 << 62:
        raise TraceError("the time cannot be")


def nanoseconds(text: str) -> int:
    """A time in seconds with a fraction, as `12.345678901`, or of the clock, as `17:58:57.814`."""
    whole, _, fraction = text.partition(".")
    if len(whole) > 12:
        raise TraceError("the time cannot be")
    seconds = 0
    for part in whole.split(":"):
        seconds = 60 * seconds + int(part)
    return seconds * 1_000_000_000 + int(fraction[:9].ljust(9, "0"))


def rest(requests: Assembler, lines: Lines, nothing: str) -> np.ndarray:
    """The requests that are left at the end of a trace; TraceError when there were none at all."""
    requests.finish()
    if not requests.rows.count:
        raise TraceError(f"{lines.path}: {nothing}")
    return requests.rows.take()
