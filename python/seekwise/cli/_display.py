"""Displays that move on a terminal (bars, tables that fill) are made here alone.

rich would put a stream of its own before ours while it draws, and the guard of `_output` would then show our own codes
as text. So that is off, and `_output.above` brings what is printed meanwhile above the display instead.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich.live import Live

from seekwise.cli import _output
from seekwise.workload.study.quantity import time_text

if TYPE_CHECKING:
    from rich.console import Console

REFRESHES_PER_S = 4
FIRST_S, EVERY_S = 2.0, 5.0
"""When it is first said how far the work is, and how often where lines stay."""


@contextlib.contextmanager
def moving(*, quiet: bool = False, stderr: bool = True) -> Iterator[tuple[Console, Live | None]]:
    """A console and, where the stream is a terminal that can be drawn over, a display on it, gone at the end; None
    elsewhere and with `quiet`."""
    quiet = quiet or _output.asked_quiet()
    console = _output.console(stderr=stderr, quiet=quiet)
    if quiet or not console.is_interactive or not console.file.isatty():  # FORCE_COLOR makes no terminal
        yield console, None
        return
    drawn = Live(
        console=console,
        refresh_per_second=REFRESHES_PER_S,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with _output.above(console), drawn:
        try:
            yield console, drawn
        finally:
            # Its last picture is drawn in full, and of one that is higher than the screen a part would stay.
            drawn.update("")


@contextlib.contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Says how much is done, of how much, with the time left by the pace so far: on a terminal in one line, gone at the
    end; elsewhere in a line now and then. Nothing of what is done within two seconds."""
    with moving() as (_, live):
        began = time.monotonic()
        due = began + FIRST_S
        pace: tuple[float, int] | None = None

        def tell(done: int, of: int) -> None:
            nonlocal due, pace
            now = time.monotonic()
            if done and pace is None:
                pace = (now, done)
            if now < due or done >= of:
                return
            left = ""
            if pace is not None and done > pace[1]:
                # By what was done since: the first ones load libraries and recordings.
                left = f", about {time_text((now - pace[0]) * (of - done) / (done - pace[1]))} left"
            if live is not None:
                live.update(f"{done} of {of} {what}{left}", refresh=True)
                return
            due = now + EVERY_S
            _output.progress(f"{done} of {of} {what}{left}")

        yield tell
