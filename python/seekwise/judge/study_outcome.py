"""The outcome of a study's run: its records judged, and the setting that they choose. It says nothing; `report`
does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from seekwise.control.lines import ShellLines, shell_lines
from seekwise.errors import UsageError
from seekwise.judge.decision.choose import Choice
from seekwise.judge.decision.observed import METRICS
from seekwise.judge.decision.records import Decided, with_choices
from seekwise.judge.decision.verdicts import Judged
from seekwise.judge.observe import POOLED_FACTOR
from seekwise.judge.records import competing, judge_records
from seekwise.store import operations
from seekwise.store.database import Run
from seekwise.store.record import Record
from seekwise.workload.study import combination_key, parse
from seekwise.workload.study.factors import factor
from seekwise.workload.study.plan import Plan, Setting, SystemFacts
from seekwise.workload.study.study import Study


@dataclass(frozen=True)
class StudyOutcome:
    """A run of a study, or one of its systems, judged by the rule of `tune`: what is in force stays unless another
    setting gains more than it loses."""

    run: Run
    plan: Plan
    records: list[Record]
    """Every trial, invalid ones and drift checks included."""
    study: Study | None
    """None for results that were made elsewhere."""

    @cached_property
    def judged(self) -> list[Judged]:
        """Every combination by every metric."""
        return judge_records(self.records, self.plan.reference)

    @cached_property
    def named(self) -> list[Judged]:
        """The same, each called as a person says it: `random read, 8 threads`."""
        names = [combination_name(entry.use, self.plan) for entry in self.judged]
        return [replace(entry, use=name, title=name) for entry, name in zip(self.judged, names, strict=True)]

    @property
    def compared(self) -> list[Record]:
        """Records without the drift checks."""
        return competing(self.records)

    @cached_property
    def decided(self) -> Decided:
        """What the combinations that decide choose, where one system's settings compete."""
        return decided(self.judged, self.plan)

    @property
    def choice(self) -> Choice | None:
        """Over all combinations."""
        return self.decided.choice

    @property
    def provenance(self) -> str:
        """measured, virtual or simulated."""
        return self.records[0].provenance if self.records else "measured"

    def of_system(self, facts: SystemFacts) -> StudyOutcome:
        """One of several systems alone, against what it was set to: what another one needs says nothing of this one's
        error rate."""
        labels = {setting.label for setting in self.plan.settings}
        plan = replace(
            self.plan,
            systems=(facts,),
            reference=facts.scheduler if facts.scheduler in labels else self.plan.reference,
            combinations=tuple(
                combination for combination in self.plan.combinations if combination.system == facts.name
            ),
        )
        return replace(self, plan=plan, records=[r for r in self.compared if r.factors.get("system") == facts.name])


def study_of(run: Run) -> Study | None:
    """The study that a run carried out; None for results that were made elsewhere."""
    try:
        return parse.loads(run.study, f"study of run {run.run_id}")
    except UsageError:
        return None


def check_mergeable(runs_: Sequence[Run]) -> None:
    """UsageError where runs are of different studies or backends, or one is named twice."""
    first = runs_[0]
    stranger = next((run for run in runs_ if (run.study_name, run.backend) != (first.study_name, first.backend)), None)
    if stranger is not None:
        raise UsageError(
            f"run {first.run_id} is of study {first.study_name} ({first.backend}) and run {stranger.run_id} of {stranger.study_name} "
            f"({stranger.backend}): they cannot be merged",
            "merge runs of one study and one backend; `seekwise compare` compares two runs",
        )
    if len({run.run_id for run in runs_}) < len(runs_):
        raise UsageError("a run is named twice", "each run counts once")


def merged(parts: Sequence[StudyOutcome]) -> StudyOutcome:
    """Runs of one study as one: made after rebuilding an array, changing a card or switching NCQ, each of other systems
    or the same again.

    A system that several runs have gets the later one's repetitions as further ones.
    """
    check_mergeable([part.run for part in parts])
    first = parts[0]
    records: list[Record] = []
    plans = [part.plan for part in parts]
    repetitions = 0
    for part in parts:
        # Repetitions of different runs are different: nothing was interleaved between them.
        records += [replace(record, repetition=record.repetition + repetitions) for record in part.records]
        repetitions += max((record.repetition for record in part.records), default=0)
    plan = replace(
        plans[0],
        repetitions=sum(one_plan.repetitions for one_plan in plans),
        systems=tuple({facts.name: facts for one_plan in plans for facts in one_plan.systems}.values()),
        settings=tuple({setting.label: setting for one_plan in plans for setting in one_plan.settings}.values()),
        combinations=tuple(
            {combination.key: combination for one_plan in plans for combination in one_plan.combinations}.values()
        ),
        touched=tuple(dict.fromkeys(touch for one_plan in plans for touch in one_plan.touched)),
        notes=(
            *dict.fromkeys(note for one_plan in plans for note in one_plan.notes),
            f"Merged from {len(parts)} runs ({', '.join(part.run.run_id for part in parts)}) that were not interleaved: drift counts as a difference",
        ),
    )
    run = replace(first.run, run_id="+".join(part.run.run_id for part in parts), plan=plan.to_document())
    return StudyOutcome(run, plan, records, first.study)


def decided(judged: Sequence[Judged], plan: Plan) -> Decided:
    """The choice of a study with one system: its combinations are the uses."""
    labels = [setting.label for setting in plan.settings if not setting.control]
    uses = [
        replace(entry, use=combination_name(entry.use, plan), title=combination_name(entry.use, plan))
        for entry in _deciding(judged)
    ]
    return with_choices(uses, plan.reference, labels)


def _deciding(judged: Sequence[Judged]) -> list[Judged]:
    """Combinations and metrics that decide. Rows over all thread counts stand for those of single counts.

    Access times count only where no throughput is known, as a closed loop's access time is its throughput read the
    other way round.
    """
    pooled = set(_pooled(judged).values())
    deciding = [
        entry for entry in judged
        if entry.metric in METRICS and (entry.use in pooled or combination_key.without(entry.use, POOLED_FACTOR) not in pooled)
    ]  # fmt: skip
    rated = {entry.use for entry in deciding if entry.metric == "rate"}
    return [entry for entry in deciding if entry.metric != "access_time" or entry.use not in rated]


def _pooled(judged: Sequence[Judged]) -> dict[str, str]:
    """{combination of one thread count: the one over all of them, which stands for it}."""
    combinations = {entry.use for entry in judged}
    whole = {combination: combination_key.without(combination, POOLED_FACTOR) for combination in combinations}
    return {
        combination: over_all
        for combination, over_all in whole.items()
        if over_all != combination and over_all in combinations
    }


def pooled_threads(judged: Sequence[Judged]) -> list[int]:
    """Thread counts over which the values of an answer are means; empty where each value is of one count."""
    return sorted({int(combination_key.parse(combination)[1][POOLED_FACTOR]) for combination in _pooled(judged)})


def recommended(choice: Choice | None, plan: Plan) -> Setting | None:
    """The setting to be set; None where what is in force stays."""
    if choice is None or not choice.changes:
        return None
    return next(setting for setting in plan.settings if setting.label == choice.setting and not setting.control)


def reference(plan: Plan) -> Setting:
    """The setting that the others are compared with."""
    return next(setting for setting in plan.settings if setting.label == plan.reference)


def otherwise(setting: Setting, plan: Plan) -> list[str]:
    """What is in force instead of this setting, as `read_ahead_kb=8192 on vda`; empty where it is in force or not
    known."""
    sentences = []
    for facts in plan.systems:
        for device, values in wanted(setting, plan).items():
            for attribute, value in values.items():
                now = facts.current.get(device, {}).get(attribute)
                if now is not None and now != value:
                    sentences.append(f"{attribute.rpartition('/')[2]}={now} on {device}")
    return list(dict.fromkeys(sentences))


def wanted(setting: Setting, plan: Plan) -> dict[str, dict[str, str]]:
    """{device: {attribute: value}} of a setting, on every device it touches."""
    settings: dict[str, dict[str, str]] = {}
    for facts in plan.systems:
        for name, value in setting.values.items():
            row = factor(name)
            if row is None or row.where == "build":
                continue
            for touch in plan.touched:
                if touch.attribute == row.attribute and touch.device in facts.current:
                    settings.setdefault(touch.device, {})[row.attribute] = str(value)
    return settings


def lines(setting: Setting, plan: Plan) -> ShellLines:
    """Shell lines that set and undo a setting on every device it touches."""
    if plan.backend != "kernel":
        return ShellLines((), ())
    before = {device: values for facts in plan.systems for device, values in facts.current.items()}
    return shell_lines(wanted(setting, plan), before)


def combination_name(combination: str, plan: Plan, *, pooled: bool = False) -> str:
    """`rand_read system=vda threads=8` as `random read, 8 threads`."""
    operation, conditions = combination_key.parse(combination)
    name = operations.name(operation).lower()
    where = condition_text(conditions, plan, pooled=pooled)
    return f"{name}, {where}" if where else name


def condition_text(conditions: Mapping[str, str], plan: Plan, *, pooled: bool = True) -> str:
    """Threads, depth, system as a person says them; what is the same everywhere is left out. `pooled`: says that all
    threads are."""
    parts = []
    for name, value in conditions.items():
        if name == "system" and len(plan.systems) == 1:
            continue
        parts.append(f"{value} thread{'' if value == '1' else 's'}" if name == "threads" else f"{name} {value}")
    has_threads = any("threads" in combination_key.parse(combination.key)[1] for combination in plan.combinations)
    if (
        pooled
        and has_threads
        and "threads" not in conditions
        and len({combination.load.threads for combination in plan.combinations}) > 1
    ):
        parts.append("all threads")
    return ", ".join(parts)
