"""What the commands on stored runs do with a live-switched one: results, advise, apply, compare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from seekwise.cli import _shown
from seekwise.errors import NotMetError, RefusedError
from seekwise.store.database import Run, Store
from seekwise.workload.live_plan import is_live

if TYPE_CHECKING:
    from seekwise.judge.decision.runs import Change
    from seekwise.report.live import LiveOutcome

COMPARE_SCHEMA = "seekwise.compare-live/1"

__all__ = ["advise", "both_live", "compare", "is_live", "results"]


def results(store: Store, run: Run, *, as_json: bool, everything: bool = False) -> None:
    """The answer of a stored run, judged again."""
    from seekwise.report import answer, live

    found = live.of(store, run)
    if as_json:
        _shown.echo_json(live.document(found, records=True))
        return
    click.echo(f"run {run.run_id}, {run.name}, {found.plan.provenance}, {run.outcome or 'unfinished'}\n")
    for line in answer.lines(found, width=_shown.out().width, everything=everything):
        click.echo(line)
    click.echo(f"\nnext: seekwise report {run.run_id}")


def advise(store: Store, run: Run, purpose: str | None, *, as_json: bool) -> None:
    """What to set for one group of uses, or for whatever may come."""
    from seekwise.judge.decision.document import decision_document
    from seekwise.report import answer, live
    from seekwise.settings import live as for_live

    found, choice = for_live.asked(live.of(store, run), purpose)
    if as_json:
        _shown.echo_json({
            "schema": "seekwise.advice-live/1",
            "run_id": run.run_id,
            "for": purpose,
            "headline": answer.headline(found),
            "decision": decision_document(choice),
            "set": list(found.lines.set),
            "undo": list(found.lines.undo),
        })  # fmt: skip
        return
    for line in answer.lines(found, width=_shown.out().width):
        click.echo(line)
    if choice.changes and found.plan.provenance == "measured":
        click.echo(f"\nnext: sudo seekwise apply {run.run_id}{f' --for {purpose}' if purpose else ''}")


def both_live(base: Run, new: Run) -> bool:
    """Whether both were switched live; RefusedError where only one was, as the two do not compare."""
    lively = [is_live(run.plan) for run in (base, new)]
    if any(lively) and not all(lively):
        raise RefusedError(
            f"runs {base.run_id} and {new.run_id} do not compare: only one of them was switched live",
            hint="compare two runs of `seekwise tune`, or two of one study",
        )
    return all(lively)


def pairs_of(store: Store, base: str, new: str) -> list[tuple[Run, Run]]:
    """The runs to compare, oldest pair first: several where both names are those of several runs (`tune --name before`, twice)."""
    first, second = store.named(base), store.named(new)
    count = min(len(first), len(second))
    return list(zip(first[-count:], second[-count:], strict=True))


def changes_of(store: Store, pairs: Sequence[tuple[Run, Run]]) -> tuple[list[Change], list[LiveOutcome]]:
    """(changes over all pairs, the newest pair); RefusedError when a pair measured no use in common."""
    from seekwise.judge.decision.records import entries
    from seekwise.judge.decision.runs import changes, over_pairs
    from seekwise.report import live

    found = []
    sides: list[LiveOutcome] = []
    for base, new in pairs:
        sides = [live.of(store, run) for run in (base, new)]
        if not any(use in sides[1].plan.uses for use in sides[0].plan.uses):
            raise RefusedError(
                f"runs {base.run_id} and {new.run_id} measured no use in common",
                hint="run `seekwise tune` twice with the same --for",
            )
        others = {each.label for each in sides[1].plan.candidates}
        common = [each.label for each in sides[0].plan.candidates if each.label in others]
        found.append(changes(*(entries(side.records, side.plan) for side in sides), common))
    simulated = all(side.plan.provenance == "simulated" for side in sides)
    return over_pairs(found, needs_confirmation=not simulated), sides


def compare(
    store: Store, pairs: Sequence[tuple[Run, Run]], fail_if: tuple[str, ...], *, as_json: bool, everything: bool = False
) -> None:
    """The same settings before and after; the first line answers, and the page has the same."""
    from seekwise.report.comparison import Pairing, lines, of_live

    found, sides = changes_of(store, pairs)
    base, new = pairs[-1]
    counts = Counter(each.outcome for each in found)
    pairing = Pairing(base, new, of_live(found), pairs_of_runs=len(pairs))
    if as_json:
        _shown.echo_json({
            "schema": COMPARE_SCHEMA,
            "headline": pairing.headline,
            "base": base.run_id,
            "new": new.run_id,
            "pairs": [[each.run_id for each in pair] for pair in pairs],
            "counts": dict(counts),
            "changes": [
                {
                    "use": each.use, "metric": each.metric, "setting": each.setting, "outcome": each.outcome,
                    "unit": each.unit, "before": each.before, "after": each.after,
                    "ratio": each.ratio, "low": each.low, "high": each.high,
                }
                for each in found
            ],
        })  # fmt: skip
    else:
        for line in lines(pairing, min(_shown.out().width, 80), note=_between(sides), everything=everything):
            click.echo(line)
    wanted = {"difference": counts["regression"] + counts["improvement"], **counts}
    seen = [f"{wanted[name]} × {name}" for name in dict.fromkeys(fail_if) if wanted.get(name)]
    if seen:
        raise NotMetError(f"run {new.run_id} against {base.run_id}: {', '.join(seen)}", hint="asked for with --fail-if")


def _between(sides) -> str:
    """What else differs between two runs, or may."""
    kinds = [side.plan.provenance for side in sides]
    if kinds[0] != kinds[1]:
        return f"One run was {kinds[0]}, the other {kinds[1]}: this tells how well they agree, not what changed."
    targets = [side.plan.target for side in sides]
    if targets[0] != targets[1]:
        return f"They are of {targets[0]} and {targets[1]}: this compares the storage, not a change of it."
    return "The runs were not interleaved: something else may have changed between them."
