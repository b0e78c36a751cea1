"""`seekwise compare RUN RUN`: what changed from one run to another, judged by the same rule as everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from seekwise.cli import _options, _shown
from seekwise.errors import NotMetError, UsageError
from seekwise.store.database import Store

if TYPE_CHECKING:
    from seekwise.judge import compare as comparing
    from seekwise.report.comparison import Pairing

# Judging loads half a second of libraries: imported where it is used, so that `--help` and errors are prompt.

FAIL_IF = ("regression", "improvement", "difference", "undecided")


@click.command("compare")
@click.argument("base", metavar="RUN")
@click.argument("new", metavar="RUN")
@click.option(
    "--fail-if",
    multiple=True,
    type=click.Choice(FAIL_IF),
    help="End with status 5 if there is one; `difference` is a regression or an improvement. Repeatable.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="List ties and small differences too; for two backends, every combination.",
)
@_options.common
def command(base: str, new: str, fail_if: tuple[str, ...], everything: bool, db: Path | None, as_json: bool) -> None:
    """Say what changed from the first RUN to the second.

    Two files of `seekwise capture` are compared, too: which settings differ, and who set them.

    Refuses runs that measured different devices or different loads.
    """
    if all(_is_capture(Path(each)) for each in (base, new)):
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
        found = paired.of(store, pairs)
    if found.is_prediction and fail_if:
        raise UsageError(
            f"`--fail-if` is for runs of one backend, these are {found.document.base.provenance} and {found.document.new.provenance}",
            hint="without it, their agreement is printed",
        )
    if as_json:
        _shown.echo_json(replace(found.document, headline=found.headline))
    elif found.is_prediction:
        _show_agreement(found, everything)
    else:
        for line in lines(found, min(_shown.out().width, 80), everything=everything):
            click.echo(line)
        for note in found.notes:
            click.echo(f"note: {note}")
        click.echo(f"\nnext: seekwise report {name_of(found.base)} {name_of(found.new)}")
    _fail(found, fail_if)


def _is_capture(path: Path) -> bool:
    """A file of `seekwise capture`, or a folder like the root of a machine; a run may have the name of any other."""
    return (path / "sys").is_dir() or (path.is_file() and path.name.endswith((".tar.gz", ".tgz")))


def _show_pairs(pairs: Sequence[comparing.ValuePair]) -> None:
    """For each combination, the two values and how far apart they are."""
    from seekwise.report.comparison import VALUE_UNITS
    from seekwise.report.layout import plain_table

    for metric in dict.fromkeys(pair.metric for pair in pairs):
        scale, unit = VALUE_UNITS.get(metric, (1.0, ""))
        click.echo()
        rows = (
            [
                pair.combination,
                pair.setting,
                f"{pair.base / scale:.4g}",
                f"{pair.new / scale:.4g}",
                f"{100 * (pair.new / pair.base - 1):+.1f} %",
            ]
            for pair in pairs
            if pair.metric == metric
        )
        _shown.out().print(plain_table((metric, "Setting", f"First, {unit}", "Second", "Difference"), rows))


def _show_agreement(found: Pairing, everything: bool) -> None:
    from seekwise.report.layout import plain_table, print_lines

    base, new = found.document.base, found.document.new
    print_lines([found.headline], _shown.out())
    click.echo(f"\nrun {new.run_id} is {new.provenance}, run {base.run_id} {base.provenance}\n")
    rows = (
        [
            row.metric,
            row.combinations,
            *(f"{100 * error:.1f} %" for error in (row.median_error, row.p90_error, row.worst_error)),
            f"{row.same_best} of {row.same_best_of}",
            row.worst_place,
        ]
        for row in found.agreement
    )
    heads = ("Metric", "Values", "Median error", "p90", "Worst", "Same best", "Worst at")
    _shown.out().print(plain_table(heads, rows))
    click.echo(
        "\nSame best: of the combinations whose settings differ by 5 % or more, those in which the second run's best setting\n"
        "is the first run's, or less than 5 % behind it there"
    )
    if everything:
        _show_pairs(found.pairs)


def _fail(found: Pairing, fail_if: tuple[str, ...]) -> None:
    counts = {name: len(found.of(name)) for name in ("regression", "improvement", "undecided")}
    counts["difference"] = counts["regression"] + counts["improvement"]
    seen = [f"{counts[name]} × {name}" for name in dict.fromkeys(fail_if) if counts[name]]
    if seen:
        raise NotMetError(
            f"run {found.new.run_id} against {found.base.run_id}: {', '.join(seen)}", hint="asked for with `--fail-if`"
        )
