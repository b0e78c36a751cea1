"""A real pseudo-terminal of 80 by 24, and what a person sees on it: after the program, and at each moment before."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyte

ROWS, COLUMNS = 24, 80
WIDE = 3 * COLUMNS
"""The program is told 80 columns; the screen that is read has more, so that a line that is too long shows its length."""
ESCAPE_SHOWN = re.compile(r"\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|\[\??[0-9;]+[A-Za-z]")


@dataclass
class Seen:
    """`frames`: the screen after each piece that arrived; `lines`: everything from the first line to the last, at the end."""

    status: int
    raw: bytes
    frames: list[list[str]]
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def frames_with(self, words: str) -> list[list[str]]:
        return [frame for frame in self.frames if any(words in line for line in frame)]

    def is_clean(self) -> None:
        """Neither at the end nor before: codes shown as text, a line wider than the terminal, a hidden cursor left behind."""
        for frame in (*self.frames, self.lines):
            for line in frame:
                assert not ESCAPE_SHOWN.search(line), line
                # A path is one word: it has no place where it could be wrapped.
                assert len(line) <= COLUMNS or " " not in line.strip(), line
        assert self.raw.count(b"\x1b[?25l") == self.raw.count(b"\x1b[?25h")


def run(
    words: Sequence[str],
    folder: Path,
    environment: dict[str, str],
    timeout_s: float = 60,
    answer: tuple[str, bytes] | None = None,
) -> Seen:
    """Runs the program with all three streams on a terminal of its own. `answer`: what is typed once these words are shown; b"" hangs up."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    unset = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "CI", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
    environment = {name: value for name, value in environment.items() if name not in unset}
    screen = pyte.HistoryScreen(WIDE, ROWS, history=100_000, ratio=0.5)
    stream = pyte.ByteStream(screen)
    raw, frames, until = b"", [], time.monotonic() + timeout_s
    with contextlib.ExitStack() as at_end:
        at_end.callback(os.close, ours)
        program = subprocess.Popen(
            list(words), stdin=theirs, stdout=theirs, stderr=theirs, cwd=folder,
            env={**environment, "TERM": "xterm-256color"}, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # Ctrl-C and a hang-up reach it
        )  # fmt: skip
        at_end.callback(program.kill)
        os.close(theirs)
        while time.monotonic() < until:
            try:
                piece = os.read(ours, 1 << 16)
            except OSError:  # nobody has the other end open any more
                break
            raw += piece
            # A piece holds several pictures; each begins with going up or back to the start of its first line, and is whole before it is erased.
            for picture in re.split(rb"(?=\r\x1b\[2K)|(?<=\x1b\[2K)(?!\x1b\[1A)", piece):
                stream.feed(picture)
                frames.append([line.rstrip() for line in screen.display])
            if answer is not None and any(answer[0] in line for line in frames[-1]):
                if not answer[1]:
                    break
                os.write(ours, answer[1])
                answer = None
        if answer is not None and not answer[1]:
            at_end.pop_all().callback(program.kill)
            os.close(ours)
        status = program.wait(timeout=max(until - time.monotonic(), 1))
    above = ["".join(row[column].data for column in range(WIDE)).rstrip() for row in screen.history.top]
    lines = [*above, *(line.rstrip() for line in screen.display)]
    while lines and not lines[-1]:
        lines.pop()
    return Seen(status, raw, frames, lines)
