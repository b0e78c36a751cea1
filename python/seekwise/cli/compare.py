"""`seekwise compare RUN RUN`: what changed from one run to another, judged by the same rule as everything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from seekwise.cli import _live_runs, _options, _shown
from seekwise.errors import NotMetError, RefusedError, UsageError
from seekwise.store import damage
from seekwise.store.database import Run, Store
from seekwise.store.record import Record
from seekwise.workload.study.plan import Plan

if TYPE_CHECKING:
    from seekwise.judge import compare as comparing

# Judging loads half a second of libraries: imported where it is used, so that `--help` and errors are prompt.

SCHEMA = "seekwise.compare/1"
IMPORTED = "imported"
FAIL_IF = ("regression", "improvement", "difference", "undecided")
WORDS = ("regression", "improvement", "unconfirmed", "small", "tie", "undecided")


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
    "--raid-kind",
    "kind",
    is_flag=True,
    help="The first RUN is of md, the second of a controller over the same kind and number of drives at the same level: tell hardware RAID from fake RAID.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help="List ties and small differences too; for two backends, every combination.",
)
@_options.common
def command(
    base: str, new: str, fail_if: tuple[str, ...], kind: bool, everything: bool, db: Path | None, as_json: bool
) -> None:
    """Say what changed from the first RUN to the second.

    Two files of `seekwise capture` are compared, too: which settings differ, and who set them.

    Refuses runs that measured different devices or different loads.
    """
    if all(_is_capture(Path(each)) for each in (base, new)):
        from seekwise.cli import _captures

        _captures.compare(Path(base), Path(new), fail_if, as_json=as_json)
        return
    from seekwise.judge import compare as comparing

    with Store.open(db, create=False) as store:
        pairs = _live_runs.pairs_of(store, base, new)
        runs = pairs[-1]
        if runs[0].run_id == runs[1].run_id:
            raise UsageError(f"run {runs[0].run_id} is named twice", hint="`seekwise results` lists the runs")
        if _live_runs.both_live(*runs):
            _live_runs.compare(store, pairs, fail_if, as_json=as_json, everything=everything)
            return
        sides, *earlier = [sides_of(store, each) for each in reversed(pairs)]
    if kind:
        _show_raid_kind(*sides, as_json)
        return
    if against := comparing.reasons_against(*sides):
        more = f" (and {len(against) - 1} more)" if len(against) > 1 else ""
        raise RefusedError(
            f"runs {sides[0].run_id} and {sides[1].run_id} do not compare: {against[0]}{more}",
            hint="; ".join(against[1:6]) or "compare runs of one study on one device",
        )
    if sides[0].badge != sides[1].badge:
        if fail_if:
            raise UsageError(
                f"`--fail-if` is for runs of one backend, these are {sides[0].badge} and {sides[1].badge}",
                hint="without it, their agreement is printed",
            )
        _show_agreement(runs, *sides, everything, as_json)
        return
    _show_judged(runs, [*reversed(earlier), sides], fail_if, everything, as_json)


def sides_of(store: Store, runs: Sequence[Run]) -> list[comparing.Side]:
    """The two runs of a pair."""
    return [_side(run, records) for run, records in zip(runs, _labelled_alike(store, runs), strict=True)]


def judged(pairs: Sequence[Sequence[comparing.Side]]) -> comparing.Comparison:
    """Pairs of runs, the newest last; earlier ones count where they compare."""
    from seekwise.judge import compare as comparing

    badges = [side.badge for side in pairs[-1]]
    like = [
        each for each in pairs[:-1] if [side.badge for side in each] == badges and not comparing.reasons_against(*each)
    ]
    found = [comparing.compare(*each) for each in (*like, pairs[-1])]
    return comparing.over_pairs(found, needs_confirmation=badges != ["simulated"] * 2)


def _show_judged(
    runs: Sequence[Run],
    pairs: Sequence[Sequence[comparing.Side]],
    fail_if: tuple[str, ...],
    everything: bool,
    as_json: bool,
) -> None:
    """Runs of one study on one backend."""
    from seekwise.judge import compare as comparing
    from seekwise.report.comparison import Pairing, lines, of_studies

    found, sides = judged(pairs), pairs[-1]
    rows = of_studies(found, comparing.pairs(*sides))
    pairing = Pairing(runs[0], runs[1], rows, tuple(found.notes), pairs_of_runs=found.pairs)
    if as_json:
        _shown.echo_json({**_document(found, sides), "headline": pairing.headline, "pairs_of_runs": found.pairs})
    else:
        for line in lines(pairing, min(_shown.out().width, 80), everything=everything):
            click.echo(line)
        for note in found.notes[1:]:
            click.echo(f"note: {note}")
    _fail(found, fail_if)


def _is_capture(path: Path) -> bool:
    """A file of `seekwise capture`, or a folder like the root of a machine; a run may have the name of any other."""
    return (path / "sys").is_dir() or (path.is_file() and path.name.endswith((".tar.gz", ".tgz")))


def _show_raid_kind(array: comparing.Side, unit: comparing.Side, as_json: bool) -> None:
    """Runs on other devices, which is the point; the loads must be the same."""
    from seekwise.judge import compare as comparing
    from seekwise.judge.raid_kind import Pair, raid_kind

    if against := comparing.reasons_against(array, unit, same_devices=False):
        raise RefusedError(
            f"runs {array.run_id} and {unit.run_id} do not compare: {against[0]}",
            hint="run the same study once on md and once on the controller",
        )
    changes = comparing.compare(array, unit).changes
    rates = {(c.cell, c.setting): c.verdict.ratio for c in changes if c.verdict.metric == "rate"}
    # A judged cell begins with its operation.
    pairs = [
        Pair(c.cell.split()[0], c.verdict.ratio, rates[c.cell, c.setting])
        for c in changes
        if c.verdict.metric == "cpu_efficiency" and (c.cell, c.setting) in rates
    ]
    found = raid_kind(pairs)
    if found is None:
        raise RefusedError(
            f"runs {array.run_id} and {unit.run_id} share no measured system CPU",
            hint="CPU efficiency decides, not the rate",
        )
    if as_json:
        _shown.echo_json(
            {"schema": "seekwise.raid-kind/1", "md": array.run_id, "controller": unit.run_id, **asdict(found)}
        )
    else:
        click.echo(f"the controller of run {unit.run_id} {found.sentence}")


def _labelled_alike(store: Store, runs: Sequence[Run]) -> list[list[Record]]:
    """The records of each run. Of two imports of one configuration each, its label is a file's name: the two are meant to be compared."""
    found = [list(store.records(run.run_id)) for run in runs]
    if all(
        run.backend == IMPORTED and len({each.setting for each in records}) == 1
        for run, records in zip(runs, found, strict=True)
    ):
        return [[replace(each, setting=IMPORTED) for each in records] for records in found]
    return found


def _side(run: Run, records: list[Record]) -> comparing.Side:
    with damage.reading(run.run_id):
        return _read_side(run, records)


def _read_side(run: Run, records: list[Record]) -> comparing.Side:
    from seekwise.judge import compare as comparing

    plan = Plan.from_document(run.plan)
    environment: dict[str, Any] = next((dict(r.environment) for r in records if r.environment), {})
    loads = {cell.key: {**_plain(asdict(cell.load)), "system": _system(plan, cell.system)} for cell in plan.cells}
    facts = {
        name: str(environment[name])
        for name in ("kernel", "fio", "filesystem", "mount_options", "memory_bytes", "governor", "host")
        if environment.get(name) is not None
    }
    if records and "model_version" in records[0].load:
        facts["model version"] = str(records[0].load["model_version"])
    return comparing.Side(run.run_id, records, loads, _devices(environment, plan), facts)


def _plain(load: dict[str, Any]) -> dict[str, Any]:
    """A load without its name; phases as words, so that a difference can be read."""
    phases = ", ".join(
        f"{p['operation']} {p['runtime_s'] or p['ios_per_thread'] or 'once'}" for p in load.pop("phases", ())
    )
    load.pop("name", None)
    return {**load, "phases": phases}


def _system(plan: Plan, name: str) -> str:
    """Systems are told apart by name only where there are several: `vda` here may be called `sda` there."""
    return name if len(plan.systems) > 1 else "the only one"


def _devices(environment: dict[str, Any], plan: Plan) -> tuple[str, ...]:
    if devices := environment.get("devices"):
        return tuple(sorted(_device(each) for each in devices))
    if model := environment.get("device_model"):
        return (str(model),)
    return tuple(sorted(facts.target for facts in plan.systems if facts.target)) if plan.backend != "import" else ()


def _device(facts: dict[str, Any]) -> str:
    """Model and serial; without a serial the name and size have to do (virtual disks, loops)."""
    model = facts.get("model") or facts.get("kind") or "device"
    if facts.get("serial"):
        return f"{model} {facts['serial']}"
    return f"{model} {facts.get('name')} ({facts.get('size_bytes')} bytes, no serial)"


def _show_agreement(
    runs: Sequence[Run], base: comparing.Side, new: comparing.Side, everything: bool, as_json: bool
) -> None:
    from seekwise.judge import compare as comparing
    from seekwise.report import terminal
    from seekwise.report.comparison import Pairing

    pairs = comparing.pairs(base, new)
    found = comparing.agreement(pairs)
    headline = Pairing(*runs, agreement=tuple(found)).headline if found else "These runs have no figure in common."
    if as_json:
        _shown.echo_json({
            "schema": SCHEMA,
            "mode": "agreement",
            "headline": headline,
            "base": {"run_id": base.run_id, "badge": base.badge},
            "new": {"run_id": new.run_id, "badge": new.badge},
            "agreement": [asdict(row) for row in found],
            "pairs": [{**asdict(pair), "error": pair.error} for pair in pairs],
            "notes": comparing.notes(base, new)[1:],
        })  # fmt: skip
        return
    terminal.print_lines([headline], _shown.out())
    click.echo(f"\nrun {new.run_id} is {new.badge}, run {base.run_id} {base.badge}\n")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("Metric", "Values", "Median error", "p90", "Worst", "Same best", "Worst at"):
        table.add_column(title)
    for row in found:
        table.add_row(
            row.metric,
            str(row.cells),
            f"{100 * row.median_error:.1f} %",
            f"{100 * row.p90_error:.1f} %",
            f"{100 * row.worst_error:.1f} %",
            f"{row.same_best} of {row.same_best_of}",
            row.worst_place,
        )
    _shown.out().print(table)
    click.echo(
        "\nSame best: of the combinations whose settings differ by 5 % or more, those in which the second run's best setting\n"
        "is the first run's, or less than 5 % behind it there"
    )
    if everything:
        _show_pairs(pairs)


UNITS = {"rate": (1e6, "MB/s"), "access_time": (1e6, "ms"), "p99": (1e6, "ms"), "cpu_efficiency": (1.0, "MB/CPU s")}


def _show_pairs(pairs: list[comparing.Pair]) -> None:
    """For each combination, the two values and how far apart they are."""
    for metric in dict.fromkeys(pair.metric for pair in pairs):
        scale, unit = UNITS.get(metric, (1.0, ""))
        click.echo()
        table = Table(box=None, pad_edge=False, header_style="bold")
        for title in (metric, "Setting", f"First, {unit}", "Second", "Difference"):
            table.add_column(title)
        for pair in (each for each in pairs if each.metric == metric):
            table.add_row(
                pair.cell,
                pair.setting,
                f"{pair.base / scale:.4g}",
                f"{pair.new / scale:.4g}",
                f"{100 * (pair.new / pair.base - 1):+.1f} %",
            )
        _shown.out().print(table)


def _document(found: comparing.Comparison, sides: Sequence[comparing.Side]) -> dict[str, object]:
    from seekwise.judge.document import document
    from seekwise.judge.rule import RULE_VERSION

    return {
        "schema": SCHEMA,
        "mode": "judged",
        "base": {"run_id": sides[0].run_id, "badge": sides[0].badge},
        "new": {"run_id": sides[1].run_id, "badge": sides[1].badge},
        "rule": RULE_VERSION,
        "counts": {word: found.count(word) for word in WORDS},
        "changes": [
            {"cell": c.cell, "setting": c.setting, "outcome": c.outcome, **document(c.verdict), "pair": "new / base"}
            | {"cell": c.cell}
            for c in found.changes
        ],
        "quantiles": [
            {
                "cell": cell,
                "setting": setting,
                "operation": operation,
                "access_time": [_shown_quantile(q) for q in rows],
            }
            for (cell, setting, operation), rows in found.quantiles.items()
        ],
        "notes": list(found.notes),
    }


def _shown_quantile(row: comparing.QuantileRatio) -> dict[str, float | int | None]:
    return {name: value if math.isfinite(value) else None for name, value in asdict(row).items()}


def _fail(found: comparing.Comparison, fail_if: tuple[str, ...]) -> None:
    counts = {
        "regression": found.count("regression"),
        "improvement": found.count("improvement"),
        "difference": found.count("regression") + found.count("improvement"),
        "undecided": found.count("undecided"),
    }
    seen = [f"{counts[name]} × {name}" for name in dict.fromkeys(fail_if) if counts[name]]
    if seen:
        raise NotMetError(f"run {found.new} against {found.base}: {', '.join(seen)}", hint="asked for with `--fail-if`")
