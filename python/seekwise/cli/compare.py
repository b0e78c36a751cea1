"""`seekwise compare RUN RUN`: what changed from one run to another, judged by the same rule as everything."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seekwise.cli import _options, _shown
from seekwise.errors import NotMetError, UsageError
from seekwise.store.database import Store

if TYPE_CHECKING:
    from seekwise.report.comparison import Pairing

# Judging loads half a second of libraries: imported where it is used, so that `--help` and errors are prompt.

FAIL_IF = ("worse", "better", "difference", "unknown")


@click.command("compare")
@click.argument("base", metavar="RUN")
@click.argument("new", metavar="RUN")
@click.option(
    "--fail-if",
    multiple=True,
    type=click.Choice(FAIL_IF),
    help="End with status 5 if there is one; `difference` is `worse` or `better`. Repeatable.",
)
@click.option("--all", "everything", is_flag=True, help="List what does not differ too.")
@_options.common
def command(base: str, new: str, fail_if: tuple[str, ...], everything: bool, db: Path | None, as_json: bool) -> None:
    """Say what changed from the first RUN to the second.

    Two files of `seekwise capture` are compared, too: which settings differ, and who set them.

    Refuses runs that measured different devices or different loads, or one a model and the other a machine.
    """
    captures = [run for run in (base, new) if _is_capture(Path(run))]
    if len(captures) == 1:
        other = new if captures == [base] else base
        raise UsageError(
            f"{captures[0]} is a captured machine, {other} is none",
            "`seekwise capture FILE.tar.gz` makes the other one",
        )
    if captures:
        from seekwise.cli import _captures

        _captures.compare(Path(base), Path(new), fail_if, as_json=as_json)
        return
    from seekwise.report import paired
    from seekwise.report.comparison import lines, name_of

    with Store.open(db, create=False) as store:
        pairs = paired.pairs_of(store, base, new)
        runs = pairs[-1]
        if runs[0].run_id == runs[1].run_id:
            raise UsageError(f"run {runs[0].run_id} is named twice", hint="`seekwise results` lists the runs")
        pairing = paired.pairing_of(store, pairs)
    if as_json:
        _shown.echo_json(replace(pairing.document, headline=pairing.headline))
    else:
        for line in lines(pairing, min(_shown.out().width, 80), everything=everything):
            click.echo(line)
        for note in pairing.notes:
            click.echo(f"note: {note}")
        both = shlex.join((name_of(pairing.base), name_of(pairing.new)))
        click.echo(f"\nnext: {runs[0].typed(f'seekwise report {both}')}")
    _fail(pairing, fail_if)


def _is_capture(path: Path) -> bool:
    """A file of `seekwise capture`, or a folder like the root of a machine; a run may have the name of any other."""
    return (path / "sys").is_dir() or (
        path.is_file() and path.name.endswith((".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar"))
    )


def _fail(pairing: Pairing, fail_if: tuple[str, ...]) -> None:
    counts = {name: len(pairing.of(name)) for name in ("worse", "better", "unknown")}
    counts["difference"] = counts["worse"] + counts["better"]
    seen = [f"{counts[name]} × {name}" for name in dict.fromkeys(fail_if) if counts[name]]
    if seen:
        raise NotMetError(
            f"run {pairing.new.run_id} against {pairing.base.run_id}: {', '.join(seen)}",
            hint="asked for with `--fail-if`",
        )
