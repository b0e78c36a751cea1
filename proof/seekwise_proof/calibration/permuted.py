"""Recorded runs of `tune` whose labels are permuted within each round: no setting differs from another, and the noise is
that of a real disk, with its stalls and its two modes. What is advised then is advised by chance."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from seekwise.judge.decision.priors import usual_of
from seekwise.judge.decision.records import Decided, with_choices
from seekwise.judge.decision.table import Conditions, UseFigure, values_of
from seekwise.judge.decision.verdicts import control, judge
from seekwise.workload.live_plan import CONTROL_SUFFIX
from seekwise_proof.calibration.score import Counts

ADDED_LOG = 0.02


@dataclass
class PermutedScore(Counts):
    """`changes`: runs in which a change was advised for what waits; `foretold`: cells of programs, `useful`: of which a
    direction or a bound of 15 % is said."""

    runs: int = 0
    changes: int = 0
    any_changes: int = 0
    foretold: int = 0
    claimed: int = 0


@cache
def recorded() -> dict[str, Any]:
    """The runs, with where they are from."""
    text = (resources.files(__package__) / "recorded_runs.json").read_text(encoding="utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


def decided(run: dict[str, Any], rng: np.random.Generator) -> Decided:
    """One permutation of a run, judged as `tune` judges."""
    base = run["in_force"]
    permutations: dict[tuple[str, int], np.ndarray] = {}
    entries = []
    for figure in run["figures"]:
        periods, names = [], dict.fromkeys(name for values in figure["rounds"] for name in values)
        for number, values in enumerate(figure["rounds"]):
            labels = list(values)
            # Figures of one period keep one label.
            order = permutations.setdefault((figure["use"], number), rng.permutation(len(labels)))
            periods += [(labels[to], values[label]) for label, to in zip(labels, order, strict=True)]
        settings = tuple(dict.fromkeys([base, *(name for name in names if not name.endswith(CONTROL_SUFFIX))]))
        entries.append(_entry(figure, periods, settings))
    prior = usual_of(recorded()["drive"])
    judged = judge(entries, base, prior)
    settings = tuple(dict.fromkeys(name for entry in entries for name in entry.figures.settings))
    return with_choices(judged, base, settings, control(entries, base, prior))


def _entry(figure: dict[str, Any], periods: list[tuple[str, float]], settings: tuple[str, ...]) -> UseFigure:
    values = values_of(periods)
    return UseFigure(
        figure["use"], figure["metric"], figure["unit"], figure["unit"] != "ms", figure["threshold"],
        type(values)(settings, values.rows), figure["role"], figure["group"], job=figure["job"], purpose=figure["purpose"],
        kind=figure["kind"],
        conditions=Conditions(
            f"{figure['kind']} {figure['role']}", added_log=ADDED_LOG, work=figure["work"], program=figure["program"],
            age=figure["age"], background=figure["background"],
        ),
    )  # fmt: skip


def score(runs: int, rng: np.random.Generator) -> PermutedScore:
    """So many permutations of each recorded run."""
    total = PermutedScore()
    for run in recorded()["runs"]:
        for _ in range(runs):
            found = decided(run, rng)
            told = [one.next for entry in found.judged for one in entry.standings if one.next is not None]
            waits = found.by_purpose.get("responsive")
            total += PermutedScore(
                1,
                int(waits is not None and waits.changes),
                int(any(choice.changes for choice in found.by_purpose.values())),
                len(told),
                sum(one.word in ("gain", "lose") for one in told),
            )
    return total
