"""The job that `tune`, `run` and `demo` share: plan, carry out, judge, print, write the report."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import click

from seekwise.cli import _display, _live, _output, _shown
from seekwise.cli._shown import page_name
from seekwise.errors import UsageError
from seekwise.measure import execute as run
from seekwise.simulate import backends
from seekwise.simulate.protocol import Backend, Options
from seekwise.store.database import Run, Store, typed
from seekwise.store.record import Record
from seekwise.workload.study import budget as budgets
from seekwise.workload.study import planning
from seekwise.workload.study.plan import Plan
from seekwise.workload.study.study import Study


def planned(study: Study, options: Options, *, seed: int | None, budget_s: float | None) -> tuple[Plan, Backend]:
    """The plan of a study on what its backend finds."""
    backend = backends.get(study.backend, options)
    facts = backend.describe(study)

    def make(study: Study, repetitions: int) -> Plan:
        return planning.make(study, facts, seed=seed, repetitions=repetitions)

    made = make(study, study.design.blocks) if budget_s is None else budgets.fit(study, budget_s, make)
    return replace(made, budget_s=budget_s), backend


def carried_out(
    made: Plan,
    backend: Backend,
    study_text: str,
    *,
    target: str | None,
    db: Path | None,
    as_json: bool,
    report_folder: Path | None,
    name: str | None = None,
) -> None:
    """Runs a plan and prints what came out; the path of the report is the last line."""
    backend.check(made)
    with _output.outliving_its_reader(), Store.open(db) as store:
        if not as_json:
            _shown.print_stack(made)
            for note in made.notes:
                click.echo(f"note: {note}")
            if made.notes:
                click.echo()
        new = run.new_run(made, study_text, target)
        new = new if name is None else replace(new, name=name)
        finish(store, new, made, backend, as_json=as_json, report_folder=report_folder)


def _check_answered(records: Iterable[Record], study: str) -> None:
    """A simulated run of which nothing is modelled has no outcome to show; its records keep why."""
    reasons: list[str] = []
    for record in records:
        if record.phases:
            return
        reasons += (record.conditions.get("not_modelled") or {}).values()
    if reasons:
        raise UsageError(f"nothing of study {study} can be simulated: {reasons[0]}")


JUDGING = "making the answer (arrays with a failed drive, too: up to half a minute)"


def finish(store: Store, what: Run, made: Plan, backend: Backend, *, as_json: bool, report_folder: Path | None) -> None:
    """Runs what is left of a plan, prints what came out, and writes the report into `report_folder`."""
    run_id = what.run_id
    with _live.watching(made.repetitions, quiet=as_json) as watcher:
        try:
            run.carry_out(store, what, made, backend, say=watcher.say, tell=watcher.tell)
        except KeyboardInterrupt:
            _, valid = store.count(run_id)
            hint = f"\n\nhint: `{typed(f'seekwise run --resume {run_id}', store.path)}` finishes it" if valid else ""
            with contextlib.suppress(OSError):  # the terminal may be what went away
                click.echo(f"interrupted after {valid} of {len(made.trials)} trials; settings are back{hint}", err=True)
            raise
    _check_answered(store.records(run_id), made.study)
    from seekwise.report import of_run  # loads the statistics, which nothing before this needs

    judged = of_run.of_runs(store, store.run(run_id))
    # Seconds after the bar has gone: arrays are simulated in two more states.
    with _display.moving(quiet=as_json) as (_, shown):
        if shown is not None:
            shown.update(JUDGING, refresh=True)
        _ = judged.content
    if not as_json:
        # Notes of the plan stand above already.
        judged.show(_shown.out(), told=made.notes)
    shows_all = typed(f"seekwise results {run_id} --all", store.path)
    report = _shown.write_page(judged, report_folder / page_name(run_id)) if report_folder is not None else None
    if as_json:
        _shown.echo_json(judged.document(report=str(report) if report is not None else None))
    elif report is not None:
        click.echo(f"\nnext: {shows_all}\n\n{report}")
    else:
        click.echo(f"\nnext: {shows_all}")
