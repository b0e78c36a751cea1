"""Displays that move on a terminal (bars, tables that fill) are made here alone.

rich would put a stream of its own before ours while it draws, and the guard of `_output` would then show our own codes
as text. So that is off, and `_output.above` brings what is printed meanwhile above the display instead.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.live import Live

from seekwise.cli import _output

if TYPE_CHECKING:
    from rich.console import Console

REFRESHES_PER_S = 4


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
            drawn.update(
                ""
            )  # its last picture is drawn in full, and of one that is higher than the screen a part would stay
