"""`seekwise demo`: the whole way from study to advice, on the simulator. Needs neither root nor fio."""

from __future__ import annotations

from pathlib import Path

import click

from seekwise.cli import _job, _options
from seekwise.simulate.protocol import Options
from seekwise.workload.study import starters


@click.command("demo")
@_options.seed("Seed of the order and of every trial.")
@_options.common
def command(seed: int | None, db: Path | None, as_json: bool) -> None:
    """Simulate the schedulers of 2008 on a disk of 2008.

    Needs neither root nor a device. Prints the verdicts and writes a report page into this folder.
    """
    study, text = starters.open_shipped("demo")
    made, backend = _job.planned(study, Options(), seed=seed, budget_s=None)
    _job.carried_out(made, backend, text, target=None, db=db, as_json=as_json, report_folder=Path())
