"""`seekwise whatif TRACE --vary …`: a recorded load on storage that is not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seekwise import invocation, temporary
from seekwise.cli import _display, _options
from seekwise.errors import UsageError
from seekwise.report.layout import wrapped

if TYPE_CHECKING:
    import numpy as np

REQUESTS_REPEATED = 3_000_000
"""Requests times settings up to which every setting is played three times."""
SEED = 1


@click.command("whatif")
@click.argument("trace", metavar="TRACE", type=click.Path(path_type=Path))
@click.option(
    "--vary",
    multiple=True,
    metavar="KEY=VALUE,…",
    help="What to try: scheduler, level, chunk, drives, layout, model, depth, kernel, or a queue setting; every combination is simulated.",
)
@click.option(
    "--open", "replay_open", is_flag=True, help="Also replay every request at its recorded time, for comparison."
)
@click.option("--repeats", type=click.IntRange(1, 20), help="Runs of each setting; by default 3, for long traces 1.")
@_options.seed("Seed of the drives' positions.", default=SEED)
@_options.common
def command(
    trace: Path,
    vary: tuple[str, ...],
    replay_open: bool,
    repeats: int | None,
    seed: int,
    db: Path | None,
    as_json: bool,
) -> None:
    """Show what other storage would do to a recorded load.

    TRACE is a recording of `seekwise record` or any format that `seekwise trace show` reads. Requests that waited for
    earlier ones wait for them on the new storage too, with the recorded think times.
    """
    from seekwise.cli import _shown, _whatif
    from seekwise.judge import predicted
    from seekwise.measure import whatif
    from seekwise.report import of_run
    from seekwise.store.database import Store, typed
    from seekwise.trace import load as loads
    from seekwise.trace.readers import open_trace

    wanted = whatif.parse_vary(vary)
    if not trace.exists():
        raise UsageError(
            f"{trace}: does not exist", hint=f"`{invocation.line('sudo seekwise record DEVICE')}` makes a trace"
        )
    notes, chunks = open_trace(trace)
    first = _first(chunks)
    settings = whatif.candidate_storages(wanted, whatif.recorded_on(notes))
    # On disk rather than in memory where /tmp is memory.
    with temporary.private("whatif", _room()) as folder:
        load = loads.make(first, notes, Path(folder))
        if repeats is None:
            repeats = 3 if load.requests * len(settings) <= REQUESTS_REPEATED else 1
        seeds = whatif.seeds_of(seed, repeats)
        threads = max(1, os.cpu_count() or 1)
        with _display.counting("trials") as tell:
            results = whatif.play(load, settings, seeds, threads=threads, progress=tell)
        said = [*load.said, *whatif.beyond(load, settings)]
        assumed = [f"Assumed: {line}" for line in load.assumed]
        played = whatif.run_of(f"whatif-{trace.stem}", str(trace), load, settings, results, seeds, [*said, *assumed])
        rows = predicted.rows(played.records)
        if not rows:
            raise UsageError(f"{trace}: holds no reads or writes")
        recorded = whatif.recorded_of(load)
        order = predicted.ranked(rows, [setting.label for setting in settings], recorded)
        opened = None
        if replay_open:
            with _display.counting("trials at recorded times") as tell:
                replayed = whatif.play(load, settings, seeds, threads=threads, replay_open=True, progress=tell)
            opened = predicted.rows(whatif.run_of("open", str(trace), load, settings, replayed, seeds, ()).records)
        hangs = _whatif.assumption_lines(load, settings, seeds[:1], order[0].setting, threads)
        with Store.open(db) as store:
            store.add_run(played.run)
            for record in played.records:
                row = (opened or {}).get((record.setting, str(record.load["program"])))
                store.add(
                    record if row is None else replace(record, load={**record.load, predicted.OPEN_P99: row.p99_ns})
                )
            store.end_run(played.run.run_id, "complete")
            if as_json:
                prediction = _whatif.Prediction(load, settings, order, rows, opened, said, hangs)
                _shown.echo_json(_whatif.document(played, trace, prediction))
                return
            of_run.of_runs(store, store.run(played.run.run_id)).show(_shown.out())
        for line in hangs:
            _paragraph(line)
        click.echo(f"\nnext: {typed(f'seekwise report {played.run.run_id}', store.path)}")


def _first(chunks: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """The same chunks, the first one read: what is no trace is said before anything else."""
    import itertools

    head = next(chunks, None)
    return chunks if head is None else itertools.chain([head], chunks)


def _paragraph(text: str) -> None:
    click.echo("\n".join(wrapped(text, 80, then="  ")))


def _room() -> Path | None:
    return Path("/var/tmp") if os.access("/var/tmp", os.W_OK) else None
