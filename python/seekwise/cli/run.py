"""`seekwise run STUDY`: carry out a study, or finish one that was interrupted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import click

from seekwise.cli import _dry_run, _job, _options
from seekwise.errors import UsageError
from seekwise.measure import execute as runs
from seekwise.measure import spread
from seekwise.measure.live.candidates import parse_vary
from seekwise.schedulers import SUCCESSORS
from seekwise.simulate import backends
from seekwise.simulate.protocol import Options
from seekwise.store.database import Store
from seekwise.workload.study import parse, starters
from seekwise.workload.study.factors import Value
from seekwise.workload.study.study import Study


@click.command("run")
@click.argument("study", required=False, metavar="STUDY")
@_options.backend
@_options.target
@click.option(
    "--system", metavar="NAME", help="Run only this system of a study with several; merge with `results RUN RUN`."
)
@click.option(
    "--program",
    type=click.Choice(["fio", "tiotest"]),
    help="Who makes the load on real hardware, instead of the study's choice.",
)
@click.option(
    "--vary",
    multiple=True,
    metavar="NAME=VALUE,…",
    help="Compare these values of a setting instead of the study's own.",
)
@_options.carried_out
@_options.spread
@_options.name
@click.option("--dry-run", is_flag=True, help="Show what the run would do; touch nothing.")
@click.option(
    "--setup",
    is_flag=True,
    help="Print the commands that build the study's systems (mdadm, mkfs, boot line, fio …); touch nothing.",
)
@click.option("--resume", metavar="RUN", help="Finish this run (`last`: the newest) without repeating what is done.")
@_options.accept_kernel_fault
@_options.common
def command(
    study: str | None,
    backend: str | None,
    target: str | None,
    system: str | None,
    program: str | None,
    vary: tuple[str, ...],
    budget: float | None,
    seed: int | None,
    destroy: tuple[str, ...],
    workers: int | None,
    on: str | None,
    name: str | None,
    dry_run: bool,
    setup: bool,
    resume: str | None,
    db: Path | None,
    as_json: bool,
) -> None:
    """Run STUDY: measure, simulate, or use a VM.

    STUDY is a TOML file or the name of a study that ships with the program.
    """
    address = spread.parse(on)
    if resume is not None:
        named = any(
            option is not None for option in (study, budget, seed, target, system, backend, program, name)
        ) or bool(vary)
        if named or dry_run or setup:
            raise UsageError(
                "`--resume` goes on as the run was planned, so it takes no study, target, seed, budget, name or `--dry-run`",
                f"`seekwise run --resume {resume}`",
            )
        _go_on(resume, destroy, (address, workers), db, as_json)
        return
    chosen, text = _opened(study, backend, system, program, parse_vary(vary, builds=True))
    if setup:
        _dry_run.show_setup(chosen, as_json=as_json)
        return
    if dry_run and (address, workers) != (None, None):
        raise UsageError("`--dry-run` shows one plan of this process, so it takes no `--workers` or `--on`")
    if dry_run:
        _dry_run.show(chosen, Options(target, destroy), seed=seed, budget_s=budget, as_json=as_json)
        return
    spread.check(chosen.backend, address, workers)
    made, carrier = _job.planned(chosen, Options(target, destroy), seed=seed, budget_s=budget)
    carrier = spread.over(carrier, made.backend, address, workers)
    _job.carried_out(made, carrier, text, target=target, db=db, as_json=as_json, report_folder=None, name=name)


def _opened(
    study: str | None, backend: str | None, system: str | None, program: str | None, vary: Mapping[str, list[Value]]
) -> tuple[Study, str]:
    """The study as the options change it, and its text."""
    if study is None:
        raise UsageError("which study?", hint="a TOML file, or one of: " + ", ".join(starters.names()))
    chosen, text = starters.open_study(study)
    if backend is not None:
        chosen = chosen.model_copy(update={"backend": backend})
    if system is not None:
        chosen = one_system(chosen, system)
    if vary and chosen.candidate:
        raise UsageError(
            f"study {chosen.name} writes its settings one by one (`[[candidate]]`), so it takes no `--vary`",
            hint="write `[settings]` instead",
        )
    if vary:
        chosen = chosen.model_copy(update={"settings": {**chosen.settings, **vary}})
        text = _written(text, vary)
    return chosen if program is None else made_by(chosen, program), text


def _written(text: str, vary: Mapping[str, list[Value]]) -> str:
    """The study's text with these values under `[settings]`, so that the run's own study repeats it."""
    lines = text.splitlines()
    if "[settings]" not in lines:
        lines += ["", "[settings]"]
    first = lines.index("[settings]") + 1
    last = next((at for at in range(first, len(lines)) if lines[at].startswith("[")), len(lines))
    kept = [line for line in lines[first:last] if line.partition("=")[0].strip() not in vary]
    asked = [f"{name} = {json.dumps(values)}" for name, values in vary.items()]
    return "\n".join([*lines[:first], *asked, *kept, *lines[last:]]) + "\n"


def _go_on(
    name: str, destroy: tuple[str, ...], where: tuple[str | None, int | None], db: Path | None, as_json: bool
) -> None:
    """Finishes a run of the database as it was planned."""
    with Store.open(db, create=False) as store:
        run, plan = runs.to_resume(store, name)
        backend = spread.over(backends.get(run.backend, Options(run.target, destroy)), run.backend, *where)
        whole = parse.loads(run.study, f"study of run {run.run_id}")
        part = {facts.name for facts in plan.systems}
        backend.describe(
            whole.model_copy(update={"system": [system for system in whole.system if system.name in part]})
        )
        _job.finish(store, run, plan, backend, as_json=as_json, report_folder=None)


def made_by(study: Study, program: str) -> Study:
    """The study with its loads made by this program."""
    if study.backend != "kernel":
        raise UsageError(
            f"`--program` chooses who makes the load on real hardware, not for `{study.backend}`",
            "add `--backend kernel`",
        )
    return study.model_copy(
        update={"workload": [load.model_copy(update={"program": program}) for load in study.workload]}
    )


def one_system(study: Study, name: str) -> Study:
    """The study with one of its systems; on a real machine with the schedulers that its kernel can have."""
    only = [system for system in study.system if system.name == name]
    if not only:
        known = ", ".join(system.name for system in study.system)
        raise UsageError(f"study {study.name} has no system `{name}`", hint=f"its systems: {known}")
    changed: dict[str, object] = {"system": only, "answer": None}
    schedulers = study.settings.get("scheduler", [])
    if study.backend == "kernel" and set(schedulers) & {*SUCCESSORS, "anticipatory"}:
        # An old kernel offers them by their own names, a new one their successors: whatever is offered is compared.
        changed["settings"] = {**study.settings, "scheduler": ["offered"]}
        click.echo(
            "note: the schedulers that this kernel offers are compared; in the multi-queue layer none, mq-deadline and bfq take the "
            "place of noop, deadline and cfq",
            err=True,
        )
    return study.model_copy(update=changed)
