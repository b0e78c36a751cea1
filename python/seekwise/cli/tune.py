"""`seekwise tune PATH|DEVICE`: plan, run, judge and advise for this storage. The main job."""

from __future__ import annotations

from pathlib import Path

import click

from seekwise.backend.protocol import Options
from seekwise.cli import _job, _options
from seekwise.study import starters


@click.command("tune")
@click.argument("target", metavar="PATH|DEVICE")
@_options.carried_out
@_options.common
def command(
    target: str, budget: float | None, seed: int | None, destroy: tuple[str, ...], db: Path | None, as_json: bool
) -> None:
    """Measure this storage with every scheduler the kernel offers for it, and say what to set.

    As root all schedulers are tried on all drives below PATH, and put back; otherwise the one in force is measured.
    A folder gets scratch files, which are removed. A block device must be empty and named in --destroy.
    """
    study = starters.tune(target)
    made, backend = _job.planned(study, Options(target, destroy), seed=seed, budget_s=budget, fit_room=True)
    _job.carried_out(made, backend, starters.text("tune"), target=target, db=db, as_json=as_json, report_folder=Path())
