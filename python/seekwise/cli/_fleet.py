"""Runs of many hosts: bundles taken in, and what the fleet says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seekwise.cli import _output, _shown
from seekwise.errors import UsageError
from seekwise.store.database import Store
from seekwise.workload.study.quantity import counted

if TYPE_CHECKING:
    from seekwise.report.fleet.rows import FleetSums


def import_bundles(paths: Sequence[Path], db: Path | None, as_json: bool) -> None:
    """All are checked before the first is stored. A run that is there already is left as it is."""
    from seekwise.report.fleet import bundle, rows
    from seekwise.store import codec

    summary = rows.FleetSums()
    seen: set[str] = set()
    for number, path in enumerate(paths, start=1):
        for whole in bundle.read(path):
            if whole.run.run_id not in seen:
                seen.add(whole.run.run_id)
                _take(summary, rows.of_records(whole.records))
        if number % 50 == 0:
            _output.progress(f"checked {number} of {len(paths)} bundles")
    added = records = there = 0
    with Store.open(db) as store:
        known = {run.run_id for run in store.runs()}
        for path in paths:
            for whole in bundle.read(path):
                if whole.run.run_id in known:
                    there += 1
                    continue
                known.add(whole.run.run_id)
                store.add_whole(whole.run, [codec.row(record) for record in whole.records])
                added, records = added + 1, records + len(whole.records)
    if not as_json:
        again = f"; {counted(there, 'run')} already there" if there else ""
        click.echo(f"{counted(len(paths), 'bundle')}: {records} records of {counted(added, 'run')} added{again}")
    _show(summary, as_json)
    if not as_json:
        click.echo("\nnext: seekwise results --fleet")


def show_store(store: Store, names: Sequence[str], as_json: bool) -> None:
    """The fleet of the measured runs of a store."""
    from seekwise.report.fleet import rows

    summary = rows.FleetSums()
    for run in [store.run(name) for name in names] or store.runs():
        _take(summary, rows.of_records(store.records(run.run_id)))
    if not summary.trials:
        raise UsageError(
            f"{store.path} has no measured run", hint="`seekwise import *.bundle` adds those of other hosts"
        )
    _show(summary, as_json)


def show_parquet(paths: Sequence[Path], as_json: bool) -> None:
    """The same of Parquet files."""
    from seekwise.report.fleet import parquet, rows

    summary = rows.FleetSums()
    # A file that is named twice counts once.
    for path in {path.resolve(): path for path in paths}.values():
        found = parquet.summary(path)
        summary.trials += found.trials
        for key, sums in found.sums.items():
            summary.of(*key).add(sums.count, sums.total, sums.squares)
    if not summary.trials:
        raise UsageError("no measured trial is in " + ", ".join(str(path) for path in paths))
    _show(summary, as_json)


def _take(summary: FleetSums, found) -> None:
    for row in found:
        summary.add(row)


def _show(summary: FleetSums, as_json: bool) -> None:
    from seekwise.report.fleet import fleet_answer

    found = fleet_answer.of(summary)
    if as_json:
        _shown.echo_json(found)
        return
    for line in fleet_answer.lines(found):
        click.echo(line)
