"""What a live-switched run recommends, as values to set."""

from __future__ import annotations

from seekwise.advise.forms import Wanted
from seekwise.analysis.decision.choose import Choice
from seekwise.errors import UsageError
from seekwise.report import answer, live
from seekwise.report.live import LiveOutcome
from seekwise.store.database import Run, Store


def choice(found: LiveOutcome, purpose: str | None) -> Choice:
    """For a group of uses, or for whatever may come. UsageError when it was not measured."""
    if purpose is None:
        made = found.choice
    else:
        made = found.found.by_group.get(purpose)
        if made is None:
            measured = ", ".join(found.found.by_group) or "nothing"
            raise UsageError(
                f"run {found.run.run_id} did not measure {purpose!r}",
                hint=f"it measured {measured}; `sudo seekwise tune PATH --for {purpose}` measures it",
            )
    if made is None:
        raise UsageError(f"run {found.run.run_id} measured nothing", hint="`sudo seekwise tune PATH` measures")
    return made


def recommended(store: Store, run: Run, purpose: str | None) -> tuple[Wanted, str]:
    """(what to set, why); nothing to set when the choice is in force already."""
    found = live.of(store, run)
    chosen = choice(found, purpose)
    words = answer.headline(found) if purpose is None else f"{chosen.setting} for {purpose}"
    candidate = next(each for each in found.plan.candidates if each.label == chosen.setting)
    return (candidate.changes if chosen.changes else {}), f"run {run.run_id}: {words.rstrip('.')}"
