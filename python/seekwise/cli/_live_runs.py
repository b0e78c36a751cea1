"""What the commands on stored runs do with a live-switched one: results, advise, apply, compare."""

from __future__ import annotations

from collections import Counter

import click

from seekwise.cli import _shown
from seekwise.errors import NotMetError, RefusedError
from seekwise.run.live.plan import is_live
from seekwise.store.database import Run, Store

COMPARE_SCHEMA = "seekwise.compare-live/1"

__all__ = ["advise", "compare", "is_live", "results"]


def results(store: Store, run: Run, *, as_json: bool) -> None:
    """The answer of a stored run, judged again."""
    from seekwise.report import answer, live

    found = live.of(store, run)
    if as_json:
        _shown.echo_json(live.document(found, records=True))
        return
    click.echo(f"run {run.run_id}, {run.name}, {found.plan.provenance}, {run.outcome or 'unfinished'}\n")
    for line in answer.lines(found, width=_shown.out().width):
        click.echo(line)
    click.echo(f"\nnext: seekwise report {run.run_id}")


def advise(store: Store, run: Run, purpose: str | None, *, as_json: bool) -> None:
    """What to set for one group of uses, or for whatever may come."""
    from seekwise.advise import live as for_live
    from seekwise.analysis.decision.document import decision_document
    from seekwise.control.lines import shell_lines
    from seekwise.report import answer, live

    found = live.of(store, run)
    choice = for_live.choice(found, purpose)
    candidate = next(each for each in found.plan.candidates if each.label == choice.setting)
    lines = shell_lines(candidate.changes, found.plan.current) if choice.changes else None
    if as_json:
        _shown.echo_json({
            "schema": "seekwise.advice-live/1",
            "run_id": run.run_id,
            "for": purpose,
            "decision": decision_document(choice),
            "set": list(lines.set) if lines else [],
            "undo": list(lines.undo) if lines else [],
        })  # fmt: skip
        return
    from dataclasses import replace

    asked = replace(found, plan=replace(found.plan, group=purpose, uses=_uses(found, purpose)))
    if purpose is not None:
        kept = tuple(each for each in found.found.judged if each.group == purpose)
        asked = replace(asked, found=replace(found.found, judged=kept))
    for line in answer.lines(asked, width=_shown.out().width):
        click.echo(line)
    if choice.changes:
        click.echo(f"\nnext: sudo seekwise apply {run.run_id}{f' --for {purpose}' if purpose else ''}")


def _uses(found, purpose: str | None):
    return tuple(use for use in found.plan.uses if purpose is None or use.group == purpose)


def compare(store: Store, base: Run, new: Run, fail_if: tuple[str, ...], *, as_json: bool) -> None:
    """The same settings before and after; the first line answers."""
    from seekwise.analysis.decision.records import entries
    from seekwise.analysis.decision.runs import changes
    from seekwise.report import live

    sides = [live.of(store, run) for run in (base, new)]
    shared = [use for use in sides[0].plan.uses if use in sides[1].plan.uses]
    if not shared:
        raise RefusedError(
            f"runs {base.run_id} and {new.run_id} measured no use in common",
            hint="run `seekwise tune` twice with the same --for",
        )
    labels = [each.label for each in sides[0].plan.candidates]
    common = [label for label in labels if label in {each.label for each in sides[1].plan.candidates}]
    found = changes(*(entries(side.records, side.plan.order()) for side in sides), common)
    counts = Counter(each.outcome for each in found)
    if as_json:
        _shown.echo_json({
            "schema": COMPARE_SCHEMA,
            "base": base.run_id,
            "new": new.run_id,
            "counts": dict(counts),
            "changes": [
                {
                    "use": each.use, "metric": each.metric, "setting": each.setting, "outcome": each.outcome,
                    "ratio": each.ratio, "low": each.low, "high": each.high,
                }
                for each in found
            ],
        })  # fmt: skip
    else:
        _print_changes(base, new, found, counts, sides)
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


def _print_changes(base: Run, new: Run, found, counts: Counter, sides) -> None:
    now = sides[0].plan.in_force.label
    mine = [each for each in found if each.setting == now]
    names = [side.plan.name or side.run.run_id for side in sides]
    worse = [each for each in mine if each.outcome == "regression"]
    better = [each for each in mine if each.outcome == "improvement"]
    if worse or better:
        parts = []
        for word, group in (("slower", worse), ("faster", better)):
            if group:
                top = max(group, key=lambda each: abs(each.gain_log))
                uses = len({each.use for each in group})
                parts.append(f"{word} in {uses} use{'s' if uses > 1 else ''} (most in {_change(top)})")
        click.echo(f"{names[1]} against {names[0]} under {now}: {', '.join(parts)}.")
    else:
        same = sum(each.outcome == "same" for each in mine)
        click.echo(
            f"{names[1]} against {names[0]} under {now}: no difference shown; {same} of {len(mine)} shown to be equal."
        )
    click.echo(f"{_between(sides)}\n")
    order = {"regression": 0, "improvement": 1, "undecided": 2, "same": 3}
    for each in sorted(found, key=lambda each: (order[each.outcome], -abs(each.gain_log))):
        if each.outcome in ("regression", "improvement"):
            click.echo(f"{each.outcome:<11}  {_change(each)} under {each.setting}")
    click.echo(f"equal within the threshold: {counts['same']}, undecided: {counts['undecided']}")


def _change(each) -> str:
    """`database: p99 latency 3.2 times shorter`."""
    from seekwise.report.metric_words import change, metric_name

    return f"{each.use}: {metric_name(each.metric)} {change(each.ratio, each.more_is_better, each.metric)}"
