"""`seekwise trace show FILE`: what is in a trace, in words and charts."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seekwise import invocation
from seekwise.cli import _options
from seekwise.cli._shown import echo_json
from seekwise.errors import SeekwiseError, reason

if TYPE_CHECKING:
    import numpy as np


QUIET_S = 2.0
EVERY_S = 5.0


def _counted(chunks: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """The same chunks; says on standard error how far it is where reading takes longer than two seconds."""
    said_at, requests = time.monotonic() + QUIET_S - EVERY_S, 0
    for chunk in chunks:
        requests += len(chunk)
        if time.monotonic() - said_at >= EVERY_S:
            said_at = time.monotonic()
            click.echo(f"reading: {requests:,} requests so far", err=True)
        yield chunk


@click.group()
def command() -> None:
    """Summarise traces of block I/O."""


@command.command()
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--page", type=click.Path(path_type=Path, dir_okay=False), help="Write the charts to this HTML file.")
@_options.as_json()
def show(path: Path, page: Path | None, as_json: bool) -> None:
    """Summarise one trace.

    Rate, request sizes, latency, processes, and dependencies between their requests.

    FILE is a recording of `seekwise record`, blktrace's or blkparse's output, text of `perf script` or `trace-cmd
    report`, a fio iolog or latency log. The format is known by its content.
    """
    from seekwise.trace import depend, summary, words
    from seekwise.trace.columns import UnknownFormat
    from seekwise.trace.document import Trace
    from seekwise.trace.readers import head_of, open_trace

    try:
        notes, chunks = open_trace(path)
    except UnknownFormat as error:
        # What people have instead of a trace is named with the command that answers it.
        from seekwise.importing.build import named
        from seekwise.importing.result import Source

        raise named(Source(path, head_of(path)), "trace") or error from None
    summed = summary.summary_of(_counted(chunks))
    if not summed.requests:
        raise SeekwiseError(
            f"{path}: holds no requests",
            hint="a recording that was cut off, or of an idle device; record again under load",
        )
    again, chunks = open_trace(path)
    processes = depend.understand(_counted(chunks), again)
    if as_json:
        document = Trace(
            file=str(path),
            source=notes.source,
            devices=notes.devices[:1000],
            dropped_events=notes.dropped,
            truncated=notes.truncated,
            anonymous=notes.anonymous,
            notes=notes.sentences,
            dependencies=processes,
            **vars(summed.figures(notes)),
        )
        echo_json(document)
    said = words.lines(summed, notes, processes)
    if not as_json:
        click.echo("\n".join(said))
    if page is not None:
        from seekwise.report import trace_page

        try:
            begun = next(open_trace(path)[1], None)
            answer = words.answer(summed, notes, processes)
            trace_page.write(page, f"Trace {path.name}", [answer, "", *said], summed, notes, begun)
        except OSError as error:
            raise SeekwiseError(f"{page}: cannot be written: {reason(error)}") from None
        click.echo(f"\n{page}", err=as_json)
    elif not as_json:
        click.echo(f"\nnext: {invocation.line(f'seekwise trace show {shlex.quote(str(path))} --page trace.html')}")
