"""What a live-switched run recommends, as values to set."""

from __future__ import annotations

from seekwise.errors import UsageError
from seekwise.judge.decision.choose import Choice
from seekwise.report import answer, live
from seekwise.report.live import LiveOutcome
from seekwise.settings.forms import Wanted
from seekwise.store.database import Run, Store


def asked(found: LiveOutcome, purpose: str | None) -> tuple[LiveOutcome, Choice]:
    """(the run asked for a purpose or a group of uses, its choice); None: for whatever may come. UsageError when it was not measured."""
    if purpose is not None:
        found = live.for_purpose(found, purpose)
    if found.choice is None:
        raise UsageError(f"run {found.run.run_id} measured nothing", hint="`sudo seekwise tune PATH` measures")
    return found, found.choice


def not_here(run_id: str, provenance: str) -> UsageError:
    """What was simulated, or measured by another tool or elsewhere, is no reason to set anything here."""
    return UsageError(
        f"run {run_id} did not measure this machine ({provenance})",
        "`sudo seekwise tune PATH` measures; `--device … --set …` sets whatever you like",
    )


def recommended(store: Store, run: Run, purpose: str | None) -> tuple[Wanted, str]:
    """(what to set, why); nothing to set when the choice is in force already."""
    found, chosen = asked(live.of(store, run), purpose)
    if found.plan.provenance != "measured":
        raise not_here(run.run_id, found.plan.provenance)
    candidate = next(each for each in found.plan.candidates if each.label == chosen.setting)
    why = f"run {run.run_id}: {answer.headline(found).rstrip('.')}"
    return (candidate.changes if chosen.changes else {}), why
