"""Staged racing over settings that multiply: schedulers first, then everything else beside the best of them, then the
best combinations against one another.

    schedulers ── the best two ── screening of all further values at once ── combinations of what gains ── judged like any others

What was pruned on the way is written down with its reason.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from seekwise.errors import SeekwiseError
from seekwise.judge.decision import choose
from seekwise.judge.decision.records import Decided, decided, merged
from seekwise.judge.decision.verdicts import log_of_share
from seekwise.measure.live import also, progress, race, screen
from seekwise.measure.live.session import LiveSession
from seekwise.store.record import Record
from seekwise.workload.live_plan import Candidate, Pruned, Stage
from seekwise.workload.study.factors import ISCHED_PREFIX, Value
from seekwise.workload.study.uses import Use, UseMetric

LEAST_BUDGET_S = 60.0
SCHEDULERS_SHARE = 0.35
"""Of the time, for the schedulers alone."""
SCREENING_SHARE = 0.6
"""Of what is left then, for the further values."""
KEPT_MOST = 2
FINAL_MOST = 6
PERIODS_PER_TERM = 2.5
PERIODS_LEAST = 10
OPEN_SHARE = 0.5
"""An effect that is not known better than this is not known."""
SWITCH_S = 0.15
"""Of a switch that passes through another scheduler, so that the kernel's own values are there again."""


def measure(session: LiveSession) -> Decided:
    """All three stages; the plan of the run ends with the candidates of the last one."""
    levels, refused = _accepted(session)
    states = race.states_of(session)
    race.first_pass(session, states, session.left_s * SCHEDULERS_SHARE)
    kept, pruned = _kept_schedulers(session)
    first = Stage("schedulers", [candidate.label for candidate in session.plan.candidates], kept, pruned)
    chosen, screened = _screened(session, states, kept, levels)
    screened = replace(screened, pruned=[*refused, *screened.pruned])
    final = _final(session, kept, chosen)
    last = Stage("combinations", [candidate.label for candidate in final])
    session.change_plan(replace(session.plan, candidates=tuple(final), stages=(first, screened, last)))
    for state in states:
        state.candidates = (*final, session.plan.control)
    race.first_pass(session, states, session.left_s * progress.FIRST_PASS_SHARE)
    return race.to_the_end(session, states)


def _accepted(session: LiveSession) -> tuple[list[Candidate], list[Pruned]]:
    """(values that the kernel takes and that differ from its own, those that it refuses): tried without load."""
    accepted, refused = [], []
    plain: dict[str, dict[str, dict[str, str]]] = {}
    for level in session.plan.levels:
        name = also.scheduler_of(level)
        if name not in plain:
            session.switch.to_original()
            session.switch.to(_plain_changes(session, name))
            plain[name] = session.switch.read_back()
        if all(
            str(plain[name][device].get(key)) == value
            for device, wanted in level.changes.items()
            for key, value in wanted.items()
            if key != "queue/scheduler"
        ):
            continue
        try:
            session.switch.to(level.changes)
            accepted.append(level)
        except SeekwiseError as error:
            refused.append(Pruned(level.label, "refused", said=error.message))
    session.switch.to_original()
    return accepted, refused


def _plain_changes(session: LiveSession, scheduler: str) -> dict[str, dict[str, str]]:
    candidate = next((planned for planned in session.plan.candidates if also.scheduler_of(planned) == scheduler), None)
    return candidate.changes if candidate is not None else {}


def _kept_schedulers(session: LiveSession) -> tuple[list[str], list[Pruned]]:
    """The two from which most is to be expected, and why the others go."""
    judged = choose.deciding(decided(session.records, session.plan).judged)
    labels = [candidate.label for candidate in session.plan.candidates]
    in_force = session.plan.in_force.label
    known = {label: choose.utility(judged, label, in_force) for label in labels}
    gains = {
        label: float(weighed.gain.mean()) if weighed is not None else -math.inf for label, weighed in known.items()
    }
    ranked = sorted(labels, key=lambda label: -gains[label])
    kept = ranked[:1] if ranked[0] == in_force else [ranked[0], in_force]
    kept += [label for label in ranked if label not in kept]
    kept = kept[:KEPT_MOST]
    pruned = []
    for label in labels:
        if label in kept:
            continue
        worst = next(iter(choose.changes_of(judged, label, in_force, better=False)), None)
        if worst is not None:
            pruned.append(Pruned(label, "worse", worst.use, worst.metric, abs(worst.ratio - 1)))
        else:
            pruned.append(Pruned(label, "less", than=ranked[0]))
    return kept, pruned


def _screened(
    session: LiveSession, states: Sequence[progress.UseState], kept: Sequence[str], levels: Sequence[Candidate]
) -> tuple[dict[str, dict[str, Value]], Stage]:
    """({scheduler label: values that gain}, what is written down of this stage)."""
    by_scheduler = {
        label: [level for level in levels if also.scheduler_of(level) == _name(session, label)] for label in kept
    }
    levels_by = {
        state.use.name: {
            label: further for label, candidates in by_scheduler.items() if (further := _levels(candidates, state.use))
        }
        for state in states
        if not state.failed
    }
    todo = _in_turn(states, levels_by)
    end_s = session.left_s * (1 - SCREENING_SHARE)
    needed_s = sum(_seconds_wanted(session, state, levels_by[state.use.name]) for state in todo)
    labels = list(kept)
    if needed_s > session.left_s - end_s:
        # Better one scheduler well than two badly.
        labels = labels[:1]
    seen: dict[str, list[screen.Effect]] = {label: [] for label in kept}
    measured, periods = [], 0
    for number, state in enumerate(todo):
        noticed = {label: levels_of for label, levels_of in levels_by[state.use.name].items() if label in labels}
        left_s = session.left_s - end_s
        if not noticed or left_s < PERIODS_LEAST * _period_s(session, state, noticed) + progress.STRETCH_OVERHEAD_S:
            continue
        wanted = {label: _periods_wanted(levels_of) for label, levels_of in noticed.items()}
        affordable = int(
            (left_s / (len(todo) - number) - progress.STRETCH_OVERHEAD_S) / _period_s(session, state, noticed)
        )
        share = max(PERIODS_LEAST, affordable // len(noticed))
        rows = {
            label: screen.design(levels_of, min(share, 2 * wanted[label]), session.plan.seed + number)
            for label, levels_of in noticed.items()
        }
        records = _run(session, state, rows)
        measured.append(state.use.name)
        periods += len(records)
        for label, levels_of in noticed.items():
            seen[label] += _effects(session, state.use, label, records, levels_of)
    chosen = {label: screen.best_values(effects) for label, effects in seen.items()}
    combinations = session.plan.extra.get("combinations")
    return chosen, Stage(
        "further settings",
        tried=[candidate.label for label in labels for candidate in by_scheduler[label]],
        kept=[
            f"{label} {_short_name(name)}={value}" for label, values in chosen.items() for name, value in values.items()
        ],
        pruned=[
            why for label in kept for why in _pruned(seen[label], chosen[label], by_scheduler[label], label in labels)
        ],
        uses=measured,
        periods=periods,
        combinations=combinations if isinstance(combinations, int) else None,
        seconds_wanted=round(needed_s),
    )


def _period_s(session: LiveSession, state: progress.UseState, noticed: Iterable[str]) -> float:
    return max(state.length_s(session.candidate(label)) for label in noticed) + SWITCH_S


def _seconds_wanted(
    session: LiveSession, state: progress.UseState, noticed: dict[str, dict[str, list[Value | None]]]
) -> float:
    """Measuring time in which the further values of these schedulers can be told apart under one use."""
    return progress.STRETCH_OVERHEAD_S + sum(_periods_wanted(levels_of) for levels_of in noticed.values()) * _period_s(
        session, state, noticed
    )


def _in_turn(
    states: Sequence[progress.UseState], levels_by: dict[str, dict[str, dict[str, list[Value | None]]]]
) -> list[progress.UseState]:
    """The first use for each setting that none before it feels: one use well tells more than many badly."""
    first: list[progress.UseState] = []
    seen: set[str] = set()
    for state in states:
        names = {name for levels_of in levels_by.get(state.use.name, {}).values() for name in levels_of}
        if names and not names <= seen:
            first.append(state)
            seen |= names
    return first


def _periods_wanted(levels: dict[str, list[Value | None]]) -> int:
    terms = 2 + sum(len(values) - 1 for values in levels.values())
    return max(PERIODS_LEAST, math.ceil(PERIODS_PER_TERM * terms))


def _levels(candidates: Sequence[Candidate], use: Use) -> dict[str, list[Value | None]]:
    levels: dict[str, list[Value | None]] = {}
    for candidate in candidates:
        name, value = also.further(candidate)
        if also.has_effect(name, use):
            levels.setdefault(name, [None]).append(value)
    return levels


def _run(
    session: LiveSession, state: progress.UseState, rows: dict[str, list[dict[str, Value | None]]]
) -> list[Record]:
    """One stretch in which the schedulers alternate, each period with its own further values."""
    schedule = []
    for number in range(max(len(row) for row in rows.values())):
        for label, row in rows.items():
            if number < len(row):
                values = {name: value for name, value in row[number].items() if value is not None}
                combined = also.combined(session.target, _name(session, label), values)
                schedule.append((combined, number, state.length_s(session.candidate(label))))
    return session.stretch(state, schedule, learn=False)


def _effects(
    session: LiveSession,
    use: Use,
    label: str,
    records: Sequence[Record],
    levels: dict[str, list[Value | None]],
) -> list[screen.Effect]:
    scheduler = _name(session, label)
    mine = [record for record in records if record.valid and str(record.factors.get("scheduler", "")) == scheduler]
    tried = [{name: record.factors.get(name) for name in levels} for record in mine]
    effects = []
    for metric in use.metrics:
        logs = [_log(record, metric) for record in mine]
        limit = session.plan.threshold.share(metric.kind, metric.role)
        effects += screen.effects(
            tried, logs, levels, metric=metric.name, use=use.name,
            threshold=log_of_share(limit, metric.more_is_better), more_is_better=metric.more_is_better,
        )  # fmt: skip
    return effects


def _log(record: Record, metric: UseMetric) -> float:
    """Logarithm of one metric in one period; NaN when nothing was counted."""
    figures = merged([record], [record.setting], metric)
    rounds = figures.rounds(record.setting)
    return figures.log_value(record.setting, rounds) if rounds else math.nan


def _pruned(
    effects: Sequence[screen.Effect], chosen: dict[str, Value], tried: Sequence[Candidate], in_time: bool
) -> list[Pruned]:
    """Why each further value goes: worse (with where and how much), less (than another value), alike (within), or
    open."""
    reasons: list[Pruned] = []
    for candidate in tried:
        name, value = also.further(candidate)
        if chosen.get(name) == value:
            continue
        mine = [effect for effect in effects if (effect.setting, effect.value) == (name, value)]
        harm = max(
            (effect for effect in mine if effect.is_harm),
            key=lambda effect: effect.size / effect.threshold,
            default=None,
        )
        if not in_time or not mine:
            why = Pruned(candidate.label, "no time")
        elif harm is not None:
            share = math.expm1(harm.size) if not harm.more_is_better else -math.expm1(-harm.size)
            why = Pruned(candidate.label, "worse", harm.use, harm.metric, share)
        elif name in chosen and any(effect.is_gain for effect in mine):
            why = Pruned(candidate.label, "less", than=f"{_short_name(name)}={chosen[name]}")
        else:
            bound = math.expm1(max(abs(effect.size) + screen.SURE * effect.error for effect in mine))
            is_alike = bound < OPEN_SHARE
            why = Pruned(candidate.label, "alike", share=bound) if is_alike else Pruned(candidate.label, "open")
        reasons.append(why)
    return reasons


def _final(session: LiveSession, kept: Sequence[str], chosen: dict[str, dict[str, Value]]) -> list[Candidate]:
    """What is in force, the schedulers that were kept, and each with what gains beside it."""
    plain = [
        session.plan.in_force,
        *(session.candidate(label) for label in kept if label != session.plan.in_force.label),
    ]
    candidates = list(plain)
    for label in kept:
        values = chosen.get(label, {})
        if values:
            candidates.append(also.combined(session.target, _name(session, label), values))
    for label in kept:
        values = chosen.get(label, {})
        if len(values) > 1:
            # One alone as well: what gains one by one may not gain together.
            name, value = next(iter(values.items()))
            candidates.append(also.combined(session.target, _name(session, label), {name: value}))
    return candidates[:FINAL_MOST]


def _name(session: LiveSession, label: str) -> str:
    return also.scheduler_of(session.candidate(label))


def _short_name(name: str) -> str:
    return name.removeprefix(ISCHED_PREFIX)
