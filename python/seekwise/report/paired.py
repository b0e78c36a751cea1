"""Two stored runs, or several pairs of them, compared by the rule of everything else, whichever way they were
measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

from seekwise.errors import UsageError
from seekwise.judge import compare as comparing
from seekwise.judge import outcome
from seekwise.judge.compare import ComparedRun
from seekwise.judge.decision.records import entries
from seekwise.judge.decision.runs import UseChange, changes, over_pairs
from seekwise.judge.observation import Verdict
from seekwise.judge.outcome import LiveOutcome
from seekwise.judge.rule import RULE_VERSION
from seekwise.report.comparison import NOT_INTERLEAVED, Pairing, of_live, of_studies
from seekwise.report.metric_words import metric_name
from seekwise.store import damage
from seekwise.store.database import IMPORTED, Run, Store
from seekwise.store.record import Record, environment_of
from seekwise.workload.study.plan import Plan

WORDS = ("regression", "improvement", "unconfirmed", "small", "tie", "undecided")
FACTS = ("kernel", "fio", "filesystem", "mount_options", "memory_bytes", "cpu_model", "host")
"""Of the machine, which two runs should have in common."""


@dataclass(frozen=True)
class Compared:
    """One of two compared runs."""

    run_id: str
    provenance: str

    @classmethod
    def from_run(cls, side: ComparedRun) -> Compared:
        """As a comparison names it."""
        return cls(side.run_id, side.provenance)


@dataclass(frozen=True, kw_only=True)
class ComparedSetting(Verdict):
    """The second run against the first, for one setting in one combination by one metric."""

    setting: str
    outcome: str
    """regression, improvement, unconfirmed (shown by some pairs of runs only), small, tie or undecided."""
    pair: str = "new / base"


@dataclass(frozen=True)
class Compare:
    """`compare RUN RUN --json`."""

    SCHEMA: ClassVar = "seekwise.compare/1"

    base: Compared
    new: Compared
    notes: Sequence[str]
    headline: str = ""
    rule: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    changes: Sequence[ComparedSetting] = ()
    pairs_of_runs: int = 1
    """Pairs of runs with these names that a judged comparison rests on; `base` and `new` are the newest."""


@dataclass(frozen=True)
class TuneCompare:
    """`compare RUN RUN --json` of two runs of `tune`."""

    SCHEMA: ClassVar = "seekwise.compare-live/1"

    base: str
    new: str
    pairs: Sequence[tuple[str, str]]
    """All runs that were compared, oldest first: several where the names are those of several runs."""
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
    return _of_studies(store, pairs) if base.is_of_study else _of_tune(store, pairs)


def _of_studies(store: Store, pairs: Sequence[tuple[Run, Run]]) -> Pairing:
    sides, *earlier = [sides_of(store, pair) for pair in reversed(pairs)]
    check(sides, imported=all(run.backend == IMPORTED for run in pairs[-1]))
    comparison = _judged([*reversed(earlier), sides])
    facts = _document(comparison, sides)
    rows = of_studies(comparison, comparing.pairs(*sides))
    return Pairing(*pairs[-1], rows, tuple(comparison.notes[1:]), pairs_of_runs=comparison.pairs, document=facts)


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


def _of_tune(store: Store, pairs: Sequence[tuple[Run, Run]]) -> Pairing:
    changed, sides = _changes_of(store, pairs)
    base, new = pairs[-1]
    environments = [environment_of(side.records) for side in sides]
    notes = [
        f"{name}: {environments[0].get(name)} against {environments[1].get(name)}"
        for name in FACTS
        if environments[0].get(name) != environments[1].get(name)
    ]
    facts = TuneCompare(
        base.run_id,
        new.run_id,
        [(one.run_id, other.run_id) for one, other in pairs],
        dict(Counter(change.outcome for change in changed)),
        changed,
    )
    rows = of_live(changed, {(entry.use, entry.metric): metric_name(entry) for entry in sides[1].decided.judged})
    return Pairing(base, new, rows, tuple(notes), pairs_of_runs=len(pairs), note=_between(sides), document=facts)


def _switched(store: Store, run: Run) -> LiveOutcome:
    opened = outcome.of_runs(store, run)
    assert isinstance(opened, LiveOutcome), run.run_id
    return opened


def _changes_of(store: Store, pairs: Sequence[tuple[Run, Run]]) -> tuple[list[UseChange], list[LiveOutcome]]:
    """(changes over all pairs, the newest pair); UsageError when a pair measured no use in common."""
    changes_by_pair = []
    sides: list[LiveOutcome] = []
    for base, new in pairs:
        sides = [_switched(store, run) for run in (base, new)]
        if not any(use in sides[1].plan.uses for use in sides[0].plan.uses):
            raise UsageError(
                f"runs {base.run_id} and {new.run_id} measured no use in common",
                hint="run `seekwise tune` twice with the same --for",
            )
        others = set(sides[1].plan.labels)
        common = [label for label in sides[0].plan.labels if label in others]
        before, after = (entries(side.records, side.plan) for side in sides)
        changes_by_pair.append(changes(before, after, common))
    simulated = all(side.plan.provenance == "simulated" for side in sides)
    # Of one model nothing but the seed differs: what one pair of such runs shows is chance.
    models = {
        (side.plan.target, side.plan.stack, str(environment_of(side.records).get("model_version"))) for side in sides
    }
    return over_pairs(changes_by_pair, needs_confirmation=not simulated or len(models) == 1), sides


def _between(sides: Sequence[LiveOutcome]) -> str:
    """What else differs between two runs, or may."""
    kinds = [side.plan.provenance for side in sides]
    if kinds[0] != kinds[1]:
        return f"One run was {kinds[0]}, the other {kinds[1]}: this tells how well they agree, not what changed."
    targets = [side.plan.target for side in sides]
    if targets[0] != targets[1]:
        return f"They are of {targets[0]} and {targets[1]}: this compares the storage, not a change of it."
    return NOT_INTERLEAVED


def sides_of(store: Store, runs: Sequence[Run]) -> list[ComparedRun]:
    """The two runs of a pair."""
    return [_side(run, records) for run, records in zip(runs, _labelled_alike(store, runs), strict=True)]


def _judged(pairs: Sequence[Sequence[ComparedRun]]) -> comparing.Comparison:
    """Pairs of runs, the newest last; earlier ones count where they compare."""
    provenances = [side.provenance for side in pairs[-1]]
    like = [
        pair
        for pair in pairs[:-1]
        if [side.provenance for side in pair] == provenances and not comparing.reasons_against(*pair)
    ]
    comparisons = [comparing.compare(*sides_of_pair) for sides_of_pair in (*like, pairs[-1])]
    return comparing.over_pairs(comparisons, needs_confirmation=provenances != ["simulated"] * 2)


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
    with damage.reading(run.run_id):
        return _read_side(run, records)


def _read_side(run: Run, records: list[Record]) -> ComparedRun:
    plan = Plan.from_document(run.plan)
    environment = environment_of(records)
    loads = {
        combination.key: {**_plain(asdict(combination.load)), "system": _system(plan, combination.system)}
        for combination in plan.combinations
    }
    facts = {
        name: str(environment[name])
        for name in ("kernel", "fio", "filesystem", "mount_options", "memory_bytes", "governor", "host")
        if environment.get(name) is not None
    }
    if records and "model_version" in records[0].load:
        facts["model version"] = str(records[0].load["model_version"])
    return ComparedRun(run.run_id, records, loads, _devices(environment, plan), facts)


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


def _document(comparison: comparing.Comparison, sides: Sequence[ComparedRun]) -> Compare:
    base, new = map(Compared.from_run, sides)
    return Compare(
        base,
        new,
        notes=comparison.notes,
        rule=RULE_VERSION,
        counts={word: comparison.count(word) for word in WORDS},
        changes=[
            ComparedSetting(**{**vars(c.verdict), "combination": c.combination}, setting=c.setting, outcome=c.outcome)
            for c in comparison.changes
        ],
        pairs_of_runs=comparison.pairs,
    )
