"""Time left of a run: said once it is known, and never made of a guess."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from seekwise.measure import execute
from seekwise.measure.execute import ANSWER_S, KNOWN_AFTER_S, Pace
from seekwise.measure.live import simulated
from seekwise.simulate import degraded
from seekwise.simulate.protocol import Options
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.workload.study import estimate, planning, starters
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
    pace = Pace(made, made.trials, made.trial_s)
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
    made = plan_of(3, "bitmap")
    pace = Pace(made, made.trials, made.trial_s)
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


def test_the_time_left_holds_the_arrays_with_a_failed_drive(clock: list[float]) -> None:
    """The load of 16 threads alone, of each array that survives a failure, in two states; a long one once."""
    made = plan_of(3)
    costs = [2.0 if combination.load.threads == 16 else 0.0 for combination in made.combinations]
    pace = Pace(made, made.trials, costs, degraded.takes_s(made, costs))
    sixteen = [trial.index for trial in made.trials if costs[trial.combination]]
    pace.ended(*sixteen[: len(sixteen) // 2])
    clock[0] += 2.0 * (len(sixteen) // 2)
    left = len(sixteen) - len(sixteen) // 2
    assert pace.left_s() == pytest.approx(2.0 * (left + 3 * 2) + ANSWER_S)


@pytest.mark.parametrize(
    ("name", "target", "vary"),
    [
        ("raid-levels", "intel_p5510", {"raid_level": ["raid5"], "drives": [8]}),
        ("schedulers", "samsung_pm9a3/virtio", {"scheduler": ["none"]}),
    ],
)
def test_how_long_trials_take_is_known_from_a_small_part_of_each(
    name: str, target: str, vary: dict[str, list[object]]
) -> None:
    """Requests of an array and a guest are as many as whole trials then have, within a factor of two."""
    study = starters.open_study(name)[0]
    loads = [load.model_copy(update={"runtime": min(load.runtime or 1.0, 1.0)}) for load in study.workload]
    changed = {"backend": "simulated", "settings": vary, "workload": loads}
    study = study.model_copy(update=changed | {"design": study.design.model_copy(update={"blocks": 1})})
    backend = SimulatedBackend(Options(target))
    made = planning.make(study, backend.describe(study))
    with backend.session(made, "run", print) as session:
        told, _ = session.foretell()
        for record in session.run([trial for trial in made.trials if trial.role == "candidate"], {}):
            number = made.trials[record.trial].combination
            moved, calls = (sum(getattr(phase, what) for phase in record.phases) for what in ("bytes", "ios"))
            whole_s = estimate.simulated_s(made.combinations[number].load, moved, calls) / session.processors
            assert whole_s / 2 < told[number] < whole_s * 2


def test_trials_of_a_machine_have_their_time_in_the_plan() -> None:
    made = plan_of(1)
    known = Plan.from_document({**made.to_document(), "backend": "kernel"})
    assert Pace(known, known.trials, known.trial_s).left_s() == pytest.approx(
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
