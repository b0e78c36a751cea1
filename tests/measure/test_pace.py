"""Time left of a run: said once it is known, and never made of a guess."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from seekwise.measure import execute
from seekwise.measure.execute import ANSWER_S, KNOWN_AFTER_S, Pace
from seekwise.measure.live import simulated
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.workload.study import planning, starters
from seekwise.workload.study.plan import Plan


def plan_of(repetitions: int, name: str = "raid-levels") -> Plan:
    study = starters.open_study(name)[0]
    study = study.model_copy(
        update={"design": study.design.model_copy(update={"blocks": repetitions, "control": False})}
    )
    return planning.make(study, SimulatedBackend().describe(study))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the time is, to be changed."""
    at = [100.0]
    monkeypatch.setattr(execute, "time", SimpleNamespace(monotonic=lambda: at[0]))
    return at


@pytest.mark.parametrize("repetitions", [1, 3])
def test_time_left_of_a_simulation_is_known_once_its_kinds_of_trials_were_seen(
    repetitions: int, clock: list[float]
) -> None:
    made = plan_of(repetitions, "bitmap")
    pace = Pace(made, made.trials)
    first = len(made.trials) // repetitions
    enough = first if repetitions > 1 else (first + 1) // 2
    for trial in made.trials[: enough - 1]:
        assert pace.left_s() is None
        pace.ended(trial.index)
    assert pace.left_s() is None and pace.left_s(ended_ahead=1) is not None
    pace.ended(made.trials[enough - 1].index)
    left_s = pace.left_s()
    assert left_s is not None and left_s > 0
    for trial in made.trials[:-1]:
        pace.ended(trial.index)
    # The last trial is not the answer: libraries are loaded, verdicts made.
    last_s = pace.left_s()
    assert last_s is not None and last_s >= ANSWER_S


def test_a_long_simulation_foretells_its_time_after_seconds(clock: list[float]) -> None:
    """By the pace of the trials so far, however few they are; before the first one has ended nothing is known."""
    made = plan_of(3)
    pace = Pace(made, made.trials)
    clock[0] += KNOWN_AFTER_S
    assert pace.left_s() is None
    pace.ended(made.trials[0].index)
    left_s, share = (
        pace.left_s(),
        made.trial_s[made.trials[0].combination] / sum(made.trial_s[trial.combination] for trial in made.trials),
    )
    assert left_s == pytest.approx(KNOWN_AFTER_S * (1 - share) / share + ANSWER_S)


def test_a_simulated_tune_foretells_its_time_from_one_trial_of_each_use(monkeypatch: pytest.MonkeyPatch) -> None:
    at = [0.0]
    monkeypatch.setattr(simulated, "time", SimpleNamespace(monotonic=lambda: at[0]))
    pace = simulated.Pace({"start": 4, "backup": 4}, began_s=0.0, told_s=0.0)
    at[0] = 1.0
    assert pace.ended(["start"]) == (0.0, None)
    at[0] = 10.0
    share, left_s = pace.ended(["backup"])
    assert (share, left_s) == (pytest.approx(10 / 40), pytest.approx(30.0))
    # The short ones say nothing of the long ones, whose share is known.
    at[0] = 13.0
    assert pace.ended(["start"] * 3)[1] == pytest.approx(27.0)


def test_arrays_with_a_failed_drive_are_named_with_a_time_that_does_not_hold_them() -> None:
    made = plan_of(3)
    assert Pace(made, made.trials).then
    bitmaps = plan_of(3, "bitmap")
    assert not Pace(bitmaps, bitmaps.trials).then


def test_trials_of_a_machine_have_their_time_in_the_plan() -> None:
    made = plan_of(1)
    known = Plan.from_document({**made.to_document(), "backend": "kernel"})
    assert Pace(known, known.trials).left_s() == pytest.approx(
        sum(made.trial_s[trial.combination] for trial in made.trials)
    )


def test_arrays_that_are_compared_are_named_and_none_of_them_alone() -> None:
    (line,) = plan_of(1).systems[0].stack
    assert line.startswith("md0: RAID 0, RAID 10, RAID 5 or RAID 6 of 4 × ") and "chunk 64 KiB" in line
    assert "survives" not in line and "TB," not in line
    study = starters.open_study("rebuild")[0]
    study = study.model_copy(update={"settings": {"raid_level": ["raid5"], "sync_speed_max": [0, 20000]}})
    (line,) = planning.make(study, SimulatedBackend().describe(study)).systems[0].stack
    assert line.startswith("md0: RAID 5 of 4 × ") and "survives 1 failure" in line
