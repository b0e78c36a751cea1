"""What came out of a run as one JSON document."""

from __future__ import annotations

from dataclasses import asdict

from seekwise.judge.decision import document as decision
from seekwise.judge.decision import seen
from seekwise.judge.document import document as verdict_document
from seekwise.judge.outcome import LiveOutcome, no_verdict, notes
from seekwise.judge.rule import RULE_VERSION
from seekwise.judge.study_outcome import StudyOutcome
from seekwise.report import tune_answer
from seekwise.report.answered import Question
from seekwise.report.content import ReportContent
from seekwise.store import codec

STUDY_SCHEMA = "seekwise.results/1"


def of_tune(found: LiveOutcome, *, records: bool = False, report: str | None = None) -> dict[str, object]:
    """`tune --json` and `results --json` of a live-switched run."""
    made: dict[str, object] = {
        "schema": decision.SCHEMA,
        "run_id": found.run.run_id,
        "name": found.plan.name,
        "target": found.plan.target,
        "provenance": found.plan.provenance,
        "outcome": found.run.outcome,
        "created_at": found.run.created_at,
        "rule_version": RULE_VERSION,
        "seconds": round(found.seconds, 1),
        "budget_seconds": found.plan.budget_s,
        "no_verdict": no_verdict(found),
        "in_force": found.plan.in_force.label,
        "candidates": [each.label for each in found.plan.candidates],
        "headline": tune_answer.headline(found),
        "decision": decision.decision_document(found.choice),
        "purposes": decision.purpose_documents(
            found.found.by_purpose if found.choice is not None else {},
            found.choice if found.plan.group is not None else None,
        ),
        "by_group": {group: decision.decision_document(choice) for group, choice in found.found.by_group.items()},
        "uses": decision.use_documents(found.found.judged),
        "seen": seen.documents(found.records, found.plan),
        "left_out": list(found.plan.left_out),
        "set": list(found.lines.set),
        "undo": list(found.lines.undo),
        "notes": notes(found),
        "stages": list(found.plan.stages),
        "report": report,
    }
    if records:
        made["records"] = [codec.to_document(record) for record in found.records]
    return made


def of_study(found: StudyOutcome, content: ReportContent, *, report: str | None = None) -> dict[str, object]:
    """`results --json` of a run of a study."""
    return {
        "schema": STUDY_SCHEMA,
        "run_id": found.run.run_id,
        "study": found.run.study_name,
        "backend": found.run.backend,
        "badge": content.provenance,
        "target": found.run.target,
        "seed": found.run.seed,
        "outcome": found.run.outcome,
        "created_at": found.run.created_at,
        "ended_at": found.run.ended_at,
        "plan": found.plan.to_document(),
        "winners": [asdict(row) for row in content.winners],
        "arrays": [asdict(row) for row in content.arrays],
        "printed": _printed(content),
        "findings": [asdict(finding) for finding in content.findings],
        "advice": asdict(content.advice),
        "control": content.control,
        "rule": content.rule,
        **_decision(content.question),
        "notes": list(content.notes),
        "verdicts": [verdict_document(verdict) for verdict in found.verdicts],
        "records": [codec.to_document(record) for record in found.records],
        "report": report,
    }


def _decision(asked: Question | None) -> dict[str, object]:
    """In the shape of `tune --json`."""
    if asked is None:
        return {"decision": None, "purposes": [], "uses": []}
    return {
        "decision": decision.decision_document(asked.choice),
        "purposes": decision.purpose_documents(asked.by_purpose, None),
        "uses": decision.use_documents(asked.judged),
    }


def _printed(content: ReportContent) -> dict[str, object] | None:
    """Tables in the form of a text, or None."""
    if not content.printed:
        return None
    shown = content.printed
    tables = [
        {
            **asdict(table),
            "blocks": [
                {
                    "title": block.title,
                    "rows": {
                        name: [{**asdict(c), "agrees": c.agrees} for c in row] for name, row in block.rows.items()
                    },
                }
                for block in table.blocks
            ],
        }
        for table in shown.tables
    ]
    return {
        "style": asdict(shown.style),
        "summary": shown.summary,
        "tables": tables,
        "grids": [asdict(grid) for grid in shown.grids],
    }
