"""`seekwise run STUDY --dry-run`: what the run would do here: combinations, order, time, bytes written, settings that
would be touched."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from seekwise.cli import _job, _shown
from seekwise.measure.kernel import user_job
from seekwise.simulate.protocol import Options
from seekwise.workload.study.plan import PLAN_SCHEMA, Plan
from seekwise.workload.study.study import Study


@dataclass(frozen=True)
class DryRun(Plan):
    """`run STUDY --dry-run --json`."""

    SCHEMA: ClassVar = PLAN_SCHEMA
    SHOWN: ClassVar = ("estimated_s", "bytes_written")


@dataclass(frozen=True)
class SetupLines:
    """`run STUDY --setup --json`: lines that build the systems of a study."""

    SCHEMA: ClassVar = "seekwise.setup/1"

    study: str
    lines: list[str]


def show(study: Study, options: Options, *, seed: int | None, budget_s: float | None, as_json: bool) -> None:
    """Prints the plan of a study. Nothing is touched."""
    made, _ = _job.planned(study, options, seed=seed, budget_s=budget_s)
    for path in dict.fromkeys(
        combination.load.job for combination in made.combinations if combination.load.job is not None
    ):
        user_job.read(Path(path))  # what a run would refuse
    if as_json:
        _shown.echo_json(DryRun(**vars(made)))
        return
    for line in _shown.plan_text(made):
        click.echo(line)
    click.echo("\nnext: the same command without --dry-run")


def show_setup(study: Study, *, as_json: bool) -> None:
    """Prints the lines that build the study's systems: boot line, mdadm, tw_cli, LVM, mkfs, sysfs, fstrim, tiotest,
    fio."""
    from seekwise.simulate import setup_lines

    commands = setup_lines.lines(study)
    if as_json:
        _shown.echo_json(SetupLines(study.name, commands))
    else:
        click.echo("\n".join(commands))
