"""What came out of a run, as `--json` prints it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from seekwise.judge.arrays import ArrayRow
from seekwise.judge.decision import document as decision
from seekwise.judge.decision import seen
from seekwise.judge.decision.choose import Choice
from seekwise.judge.decision.document import PurposeDecision, UseVerdict
from seekwise.judge.outcome import LiveOutcome, Outcome, no_verdict
from seekwise.judge.rule import RULE_VERSION
from seekwise.judge.study_outcome import StudyOutcome
from seekwise.report.content import Advice, Answer, QuestionTable, ReportContent
from seekwise.report.insights.finding import Finding
from seekwise.store.record import Record
from seekwise.workload.live_plan import Stage


@dataclass(frozen=True)
class Tune:
    """`tune --json`, and `results RUN --json` of such a run (with `records`)."""

    SCHEMA: ClassVar = "seekwise.tune/1"

    run_id: str
    name: str | None
    target: str
    provenance: str
    """measured, virtual or simulated."""
    outcome: str | None
    created_at: str
    rule_version: str
    seconds: float
    budget_seconds: float
    no_verdict: str | None
    """Why there is no verdict; null when there is one."""
    in_force: str
    candidates: tuple[str, ...]
    headline: str
    """The answer in words."""
    answers: Sequence[Answer]
    """The same in parts: what to set for whom, with its effects."""
    decision: Choice | None
    purposes: Sequence[PurposeDecision]
    by_group: Mapping[str, Choice | None]
    """{group of uses: decision for it alone}."""
    uses: Sequence[UseVerdict]
    seen: Sequence[seen.SeenFigure]
    """Figures that decide nothing: p99.9 latency, CPU time per operation, fairness among equal processes."""
    stages: Sequence[Stage]
    """With `--also`; else empty."""
    left_out: Sequence[str]
    """Uses that did not fit the budget."""
    set: Sequence[str]
    """Shell lines that set the decision."""
    undo: Sequence[str]
    notes: Sequence[str]
    report: str | None
    records: Sequence[Record]


@dataclass(frozen=True)
class Results:
    """`results RUN --json`, `run --json`, `demo --json`, `lab --json`, `import --json`: verdicts and records of a
    study's run."""

    SCHEMA: ClassVar = "seekwise.results/2"
    run_id: str
    study: str
    backend: str
    provenance: str
    """measured, virtual or simulated."""
    target: str | None
    seed: int
    outcome: str | None
    """complete, or why not."""
    created_at: str
    ended_at: str | None
    plan: dict[str, Any]
    """What was planned, schema seekwise.plan/1."""
    arrays: Sequence[ArrayRow]
    table: QuestionTable | None
    """Of a question that has a table of its own, in place of the arrays."""
    """Of a study of arrays."""
    findings: Sequence[Finding]
    """Insights, strongest first."""
    advice: Advice
    control: str
    """Result of the A/A check, a sentence."""
    rule: str
    decision: Choice | None
    """Of a study whose settings compete on one system; else null, and `advice.choices` or `arrays` answer."""
    purposes: Sequence[PurposeDecision]
    uses: Sequence[UseVerdict]
    """Every combination by every metric, in the shape of `tune --json`: `rule_version` says by which rule."""
    rule_version: str
    notes: Sequence[str]
    records: Sequence[Record]
    report: str | None
    """Path of the page that was written."""


def of(outcome: Outcome, content: ReportContent, *, records: bool, report: str | None = None) -> Tune | Results:
    """What `--json` prints of a run. `records`: of a live-switched one with every period."""
    if isinstance(outcome, LiveOutcome):
        return _of_tune(outcome, content, records=records, report=report)
    return _of_study(outcome, content, report=report)


def _of_tune(outcome: LiveOutcome, content: ReportContent, *, records: bool, report: str | None) -> Tune:
    plan, judged, is_asked = outcome.plan, outcome.decided, outcome.plan.group is not None
    return Tune(
        run_id=outcome.run.run_id,
        name=plan.name,
        target=plan.target,
        provenance=plan.provenance,
        outcome=outcome.run.outcome,
        created_at=outcome.run.created_at,
        rule_version=RULE_VERSION,
        seconds=round(outcome.seconds, 1),
        budget_seconds=plan.budget_s,
        no_verdict=no_verdict(outcome),
        in_force=plan.in_force.label,
        candidates=plan.labels,
        headline=content.advice.headline,
        answers=content.advice.answers,
        decision=outcome.choice,
        purposes=decision.purposes(judged.by_purpose, outcome.choice if is_asked else None) if outcome.choice else (),
        by_group=judged.by_group,
        uses=decision.uses(judged.judged),
        seen=seen.figures(outcome.records, plan),
        stages=plan.stages,
        left_out=plan.left_out,
        set=content.advice.set_lines,
        undo=content.advice.undo_lines,
        notes=content.notes,
        report=report,
        records=outcome.records if records else (),
    )


def _of_study(outcome: StudyOutcome, content: ReportContent, *, report: str | None) -> Results:
    asked = content.question
    return Results(
        run_id=outcome.run.run_id,
        study=outcome.run.study_name,
        backend=outcome.run.backend,
        provenance=content.provenance,
        target=outcome.run.target,
        seed=outcome.run.seed,
        outcome=outcome.run.outcome,
        created_at=outcome.run.created_at,
        ended_at=outcome.run.ended_at,
        plan=outcome.plan.to_document(),
        arrays=content.arrays,
        table=content.table,
        findings=content.findings,
        advice=content.advice,
        control=content.control,
        rule=content.rule,
        decision=asked.choice if asked else None,
        purposes=decision.purposes(asked.by_purpose, None) if asked else (),
        uses=decision.uses(outcome.named),
        rule_version=RULE_VERSION,
        notes=content.notes,
        records=outcome.records,
        report=report,
    )
