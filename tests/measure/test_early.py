"""`--until`: what runs next follows from the records so far; resuming asks the same question again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seekwise.errors import SeekwiseError
from seekwise.judge import early
from seekwise.measure import execute as run
from seekwise.report import of_run
from seekwise.store.database import Store
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.study import plan
from seekwise.workload.study.plan import Plan, SystemFacts, Trial
from seekwise.workload.study.study import Study


def make(schedulers: list[str], *, threads: list[int], until: str | None) -> Plan:
    study = Study.model_validate(
        {
            "name": "s",
            "backend": "simulated",
            "system": [{"name": "disk", "drive": "x"}],
            "settings": {"scheduler": schedulers},
            "workload": [{"operations": ["seq_read", "rand_read"], "threads": threads, "runtime": "1s"}],
            "design": {"blocks": early.REPETITIONS_MAX, "sentinel": True},
        }
    )
    facts = SystemFacts(
        "disk", "x", leaves=("sim0",), offered=tuple(schedulers), current={"sim0": {}}, scheduler=schedulers[0]
    )
    return replace(plan.make(study, (facts,)), until=until)


class Fake:
    """A backend whose every trial has the rate that `effect(setting, combination)` says, with 1 % noise, or 10 % where `noisy` is in the combination."""

    provenance = "simulated"

    def __init__(self, made: Plan, effect, fail_after: int | None = None, noisy: str = "nowhere"):
        self.plan, self.effect, self.fail_after, self.trials = made, effect, fail_after, []
        self.noisy = noisy

    def session(self, made, run_id, say):
        from contextlib import nullcontext

        self.run_id = run_id
        return nullcontext(self)

    ended_ahead = 0

    def run(self, trials: list[Trial], attempts):
        for trial in trials:
            if self.fail_after is not None and len(self.trials) >= self.fail_after:
                raise SeekwiseError("power cut")
            self.trials.append(trial)
            setting, combination = self.plan.settings[trial.setting], self.plan.combinations[trial.combination]
            rng = np.random.default_rng(trial.seed)
            name = setting.label.removesuffix(" (control)")
            phases = []
            for operation in ("seq_read", "rand_read"):
                noise = rng.normal(0, 0.1 if self.noisy in combination.key else 0.01)
                throughput = 1e8 * float(np.exp(self.effect(name, combination.key) + noise))
                phases.append(
                    Phase(
                        operation,
                        1.0,
                        round(throughput),
                        4000,
                        {1000: 4000},
                        1e14 / throughput,
                        1000,
                        CpuSeconds(0.0, 0.1),
                    )
                )
            label = setting.label if trial.role != "sentinel" else f"{setting.label} (drift check)"
            yield Record(
                self.run_id, trial.index, trial.repetition, combination.key, label, {}, "simulated", trial.seed, "2026-01-01T00:00:00Z",
                tuple(phases), conditions={"role": trial.role},
            )  # fmt: skip


def carried_out(
    tmp_path: Path, made: Plan, effect, noisy: str = "nowhere"
) -> tuple[Fake, of_run.StudyReport, list[str]]:
    fake, said = Fake(made, effect, noisy=noisy), []
    with Store.open(tmp_path / "db") as store:
        row = run.new_run(made, "", None)
        run.carry_out(store, row, made, fake, say=said.append)
        return fake, of_run.of(store, store.run(row.run_id)), said


def test_a_run_stops_when_every_comparison_is_decided(tmp_path: Path) -> None:
    made = make(["a", "b"], threads=[1, 2, 4, 8, 16, 32], until="decided")
    fake, found, said = carried_out(tmp_path, made, lambda setting, combination: 0.4 * (setting == "b"))
    assert {trial.repetition for trial in fake.trials} == {1, 2, 3}
    assert found.run.outcome == "complete"
    assert {v.winner for v in found.verdicts if v.metric == "rate"} == {"b"}
    assert any("12 of 12 combinations decided after 3 repetitions" in line for line in said)


def test_decided_combinations_stop_while_open_ones_go_on(tmp_path: Path) -> None:
    made = make(["a", "b"], threads=[1, 2, 4, 8, 16, 32], until="decided")

    def effect(setting: str, combination: str) -> float:
        # With that noise neither a win nor a tie can be shown.
        return 0.0 if "threads=8" in combination else 0.4 * (setting == "b")

    fake, _, _ = carried_out(tmp_path, made, effect, noisy="threads=8")
    late = {
        made.combinations[trial.combination].key
        for trial in fake.trials
        if trial.repetition > 3 and trial.role != "sentinel"
    }
    assert late == {"system=disk threads=8"}
    assert any(trial.role == "control" for trial in fake.trials if trial.repetition > 3)


def test_losers_drop_out_and_the_reference_stays(tmp_path: Path) -> None:
    names = [f"s{i}" for i in range(12)]
    made = make(names, threads=[1], until="best")
    fake, found, _ = carried_out(tmp_path, made, lambda setting, combination: 0.05 * int(setting[1:]))
    ran = {
        name: sum(made.settings[t.setting].label == name and t.role == "candidate" for t in fake.trials)
        for name in names
    }
    assert ran["s1"] < ran["s11"] == ran["s0"]
    assert len(fake.trials) < len(made.trials) / 2
    assert any("s11 leads 12 candidates" in note for note in found.content.notes)
    against = [v for v in found.verdicts if {v.setting_a, v.setting_b} == {"s0", "s11"} and v.metric == "rate"]
    assert {v.winner for v in against} == {"s11"}


def test_without_until_every_repetition_is_run(tmp_path: Path) -> None:
    made = make(["a", "b"], threads=[1], until=None)
    fake, _, _ = carried_out(tmp_path, made, lambda setting, combination: 0.4 * (setting == "b"))
    assert len(fake.trials) == len(made.trials)


def test_a_resumed_run_decides_as_if_it_had_not_been_interrupted(tmp_path: Path) -> None:
    made = make(["a", "b"], threads=[1, 2, 4, 8, 16, 32], until="decided")

    def effect(setting: str, combination: str) -> float:
        return 0.4 * (setting == "b")

    broken = Fake(made, effect, fail_after=40)
    with Store.open(tmp_path / "db") as store:
        row = run.new_run(made, "", None)
        with pytest.raises(SeekwiseError):
            run.carry_out(store, row, made, broken)
        stored, again = run.to_resume(store, row.run_id)
        assert again.until == "decided"
        rest = Fake(again, effect)
        run.carry_out(store, stored, again, rest)
        resumed = of_run.of(store, store.run(row.run_id))
    assert not {t.index for t in broken.trials} & {t.index for t in rest.trials}
    _, whole, _ = carried_out(tmp_path / "other", made, effect) if (tmp_path / "other").mkdir() is None else None
    assert [(v.combination, v.winner, v.ratio) for v in resumed.verdicts] == [
        (v.combination, v.winner, v.ratio) for v in whole.verdicts
    ]


def test_the_forecast_uses_the_noise_of_an_earlier_run(tmp_path: Path) -> None:
    made = make(["a", "b"], threads=[1, 2, 4, 8], until=None)
    assert "assumed" in early.expected(made, None).text
    carried_out(tmp_path, made, lambda setting, combination: 0.0)
    with Store.open(tmp_path / "db") as store:
        noise = early.known_noise(made, store)
        other = replace(made, systems=(replace(made.systems[0], target="y"),))
        assert early.known_noise(other, store) is None
    assert noise is not None and noise.sd == pytest.approx(0.01, rel=0.3)
    assert f"as in run {noise.run_id}" in early.expected(made, noise).text
    assert early.expected(made, noise).repetitions < early.expected(made, None).repetitions
