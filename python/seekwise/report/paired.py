"""Two stored runs, or several pairs of them, compared by the rule of everything else, whichever way they were
measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from seekwise.errors import UsageError
from seekwise.judge import compare as comparing
from seekwise.judge import outcome
from seekwise.judge.compare import ComparedRun
from seekwise.judge.decision.observed import figures_of
from seekwise.judge.decision.records import entries
from seekwise.judge.decision.runs import UseChange, changes, over_pairs
from seekwise.judge.observe import observations
from seekwise.judge.outcome import LiveOutcome
from seekwise.judge.records import is_exact
from seekwise.judge.rule import RULE_VERSION
from seekwise.report.comparison import NOT_INTERLEAVED, Pairing, rows_of
from seekwise.store import damage
from seekwise.store.database import IMPORTED, Run, Store
from seekwise.store.record import Record, environment_of
from seekwise.workload.study.plan import Plan

FACTS = ("kernel", "fio", "filesystem", "mount_options", "memory_bytes", "cpu_model", "governor", "host")
"""Of the machine, which two runs should have in common."""


@dataclass(frozen=True)
class Compared:
    """One of two compared runs."""

    run_id: str
    provenance: str


@dataclass(frozen=True)
class Compare:
    """`compare RUN RUN --json`."""

    SCHEMA: ClassVar = "seekwise.compare/2"

    base: Compared
    new: Compared
    pairs: Sequence[tuple[str, str]]
    """All runs that were compared, oldest first: several where the names are those of several runs."""
    notes: Sequence[str]
    rule_version: str
    counts: dict[str, int]
    changes: Sequence[UseChange]
    headline: str = ""


def pairs_of(store: Store, base: str, new: str) -> list[tuple[Run, Run]]:
    """The runs to compare, oldest pair first: several where both names are those of several runs (`tune --name before`,
    twice)."""
    first, second = store.named(base), store.named(new)
    count = min(len(first), len(second))
    return list(zip(first[-count:], second[-count:], strict=True))


def after_earlier(store: Store, base: Run, new: Run) -> list[tuple[Run, Run]]:
    """The two, after earlier pairs of the same names."""
    pairs = pairs_of(store, *(run.given_name or run.run_id for run in (base, new)))
    newest = [(a.run_id, b.run_id) for a, b in pairs[-1:]]
    return pairs if newest == [(base.run_id, new.run_id)] else [(base, new)]


def pairing_of(store: Store, pairs: Sequence[tuple[Run, Run]]) -> Pairing:
    """The newest pair, confirmed by earlier ones. UsageError for runs that do not compare."""
    base, new = pairs[-1]
    if base.is_of_study != new.is_of_study:
        raise UsageError(
            f"runs {base.run_id} and {new.run_id} do not compare: only one of them was switched live",
            hint="compare two runs of `seekwise tune`, or two of one study",
        )
    sides = sides_of(store, pairs[-1])
    if base.is_of_study:
        check(sides, imported=all(run.backend == IMPORTED for run in pairs[-1]))
    else:
        _check_uses(sides)
    # Earlier pairs count where they compare.
    like = [(pair, both) for pair in pairs[:-1] if _are_like(both := sides_of(store, pair), sides, base.is_of_study)]
    like.append((pairs[-1], sides))
    changed = over_pairs(
        [changes(*(side.figures for side in both)) for _, both in like], needs_confirmation=_needs_confirmation(sides)
    )
    if not changed:
        raise UsageError(
            f"runs {base.run_id} and {new.run_id} have no figure in common",
            "`seekwise results RUN` shows those of each",
        )
    note = NOT_INTERLEAVED if base.is_of_study else _between(sides)
    notes = comparing.notes(*sides)
    document = Compare(
        Compared(sides[0].run_id, sides[0].provenance),
        Compared(sides[1].run_id, sides[1].provenance),
        [(one.run_id, other.run_id) for (one, other), _ in like],
        [note, *notes],
        RULE_VERSION,
        dict(Counter(change.verdict for change in changed)),
        changed,
    )
    rows = rows_of(changed, sides[1].judged)
    return Pairing(base, new, rows, tuple(notes), pairs_of_runs=len(like), note=note, document=document)


def _are_like(pair: Sequence[ComparedRun], newest: Sequence[ComparedRun], is_of_study: bool) -> bool:
    if not is_of_study:
        return True
    provenances = [[side.provenance for side in both] for both in (pair, newest)]
    return provenances[0] == provenances[1] and not comparing.reasons_against(*pair)


def _needs_confirmation(sides: Sequence[ComparedRun]) -> bool:
    """Whether one pair of runs shows nothing yet: of one model nothing but the seed differs, so what one pair of such runs of `tune` shows is chance;
    the trials of a study have the same seeds in every run."""
    simulated = all(side.provenance == "simulated" for side in sides)
    return not simulated or bool(sides[0].model) and sides[0].model == sides[1].model


def check(sides: Sequence[ComparedRun], *, imported: bool = False) -> None:
    """UsageError for runs of other loads, other devices or other backends. `imported`: both are."""
    if sides[0].provenance != sides[1].provenance:
        raise UsageError(
            f"runs {sides[0].run_id} and {sides[1].run_id} do not compare: one is {sides[0].provenance}, the other {sides[1].provenance}",
            hint="`seekwise results RUN` shows the values of each; `seekwise verify` holds the models against measurements",
        )
    if against := comparing.reasons_against(*sides):
        hint = "; ".join(against[1:6]) or "compare runs of one study on one device"
        if imported and not sides[0].loads.keys() & sides[1].loads.keys():
            # One import looks for what does differ: depths of one job, say.
            hint = "import the files of both in one command, which compares them: `seekwise import FILE FILE`"
        more = f" (and {len(against) - 1} more)" if len(against) > 1 else ""
        raise UsageError(
            f"runs {sides[0].run_id} and {sides[1].run_id} do not compare: {against[0]}{more}",
            hint=hint,
        )


def _check_uses(sides: Sequence[ComparedRun]) -> None:
    """UsageError where two runs of `tune` have no use in common."""
    if not any(sides[1].loads.get(name) == use for name, use in sides[0].loads.items()):
        raise UsageError(
            f"runs {sides[0].run_id} and {sides[1].run_id} measured no use in common",
            hint="run `seekwise tune` twice with the same --for",
        )


def _between(sides: Sequence[ComparedRun]) -> str:
    """What else differs between two runs, or may."""
    kinds = [side.provenance for side in sides]
    if kinds[0] != kinds[1]:
        return f"One run was {kinds[0]}, the other {kinds[1]}: this tells how well they agree, not what changed."
    if sides[0].devices != sides[1].devices:
        targets = " and ".join(", ".join(side.devices) for side in sides)
        return f"They are of {targets}: this compares the storage, not a change of it."
    return NOT_INTERLEAVED


def sides_of(store: Store, runs: Sequence[Run]) -> list[ComparedRun]:
    """The two runs of a pair."""
    if not runs[0].is_of_study:
        return [_switched(store, run) for run in runs]
    sides = []
    for run, records in zip(runs, _labelled_alike(store, runs), strict=True):
        with damage.reading(run.run_id):
            sides.append(_side(run, records))
    return sides


def _switched(store: Store, run: Run) -> ComparedRun:
    opened = outcome.of_runs(store, run)
    assert isinstance(opened, LiveOutcome), run.run_id
    plan, environment = opened.plan, environment_of(opened.records)
    return ComparedRun(
        run.run_id,
        opened.records,
        {use.name: {"use": use} for use in plan.uses},
        (plan.target,),
        _facts(environment),
        entries(opened.records, plan),
        opened.decided.judged,
        (plan.target, *plan.stack, str(environment.get("model_version"))),
        plan.provenance,
    )


def _labelled_alike(store: Store, runs: Sequence[Run]) -> list[list[Record]]:
    """The records of each run. Of two imports of one configuration each, its label is a file's name: the two are meant
    to be compared."""
    records_of_runs = [list(store.records(run.run_id)) for run in runs]
    if all(
        run.backend == IMPORTED and len({record.setting for record in records}) == 1
        for run, records in zip(runs, records_of_runs, strict=True)
    ):
        return [[replace(record, setting=IMPORTED) for record in records] for records in records_of_runs]
    return records_of_runs


def _side(run: Run, records: list[Record]) -> ComparedRun:
    plan = Plan.from_document(run.plan)
    environment = environment_of(records)
    loads = {
        combination.key: {**_plain(asdict(combination.load)), "system": _system(plan, combination.system)}
        for combination in plan.combinations
    }
    facts = _facts(environment)
    if records and "model_version" in records[0].load:
        facts["model version"] = str(records[0].load["model_version"])
    side = ComparedRun(run.run_id, records, loads, _devices(environment, plan), facts)
    figures = figures_of(observations(side.compared), exact=is_exact(records), settings_least=1)
    return replace(side, figures=figures, provenance=records[0].provenance if records else "measured")


def _facts(environment: dict[str, Any]) -> dict[str, str]:
    return {name: str(environment[name]) for name in FACTS if environment.get(name) is not None}


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
        return tuple(sorted(_device(device) for device in devices))
    if model := environment.get("device_model"):
        return (str(model),)
    return tuple(sorted(facts.target for facts in plan.systems if facts.target)) if plan.backend != "import" else ()


def _device(facts: dict[str, Any]) -> str:
    """Model and serial; without a serial the name and size have to do (virtual disks, loops)."""
    model = facts.get("model") or facts.get("kind") or "device"
    if facts.get("serial"):
        return f"{model} {facts['serial']}"
    return f"{model} {facts.get('name')} ({facts.get('size_bytes')} bytes, no serial)"
