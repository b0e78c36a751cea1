"""`seekwise compare RUN RUN`: judged by the one rule; refused where runs do not compare; status 5 with --fail-if."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from seekwise.cli.compare import command
from seekwise.cli.main import cli
from seekwise.errors import NotMetError, UsageError
from seekwise.judge.decision.runs import changes
from seekwise.judge.decision.table import Conditions, UseFigure, Values
from seekwise.measure import execute as run
from seekwise.store.database import Store
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.study import planning
from seekwise.workload.study.plan import SystemFacts
from seekwise.workload.study.study import Study

THREADS = [1, 2, 4, 8, 16, 32]


def add(
    db: Path,
    seed: int,
    *,
    effect=lambda name, threads: 0.0,
    serial: str = "S1",
    provenance: str = "measured",
    threads=THREADS,
    name: str = "s",
    **workload,
) -> str:
    """One finished run in the store: its id."""
    study = Study.model_validate(
        {
            "name": "s",
            "backend": "simulated",
            "system": [{"name": "disk", "drive": "x"}],
            "settings": {"scheduler": ["a", "b"]},
            "workload": [{"operations": ["seq_read"], "threads": threads, "runtime": "1s", **workload}],
            "design": {"blocks": 5},
        }
    )
    facts = SystemFacts("disk", "x", leaves=("sda",), offered=("a", "b"), current={"sda": {}}, scheduler="a")
    made = planning.make(study, (facts,), seed=seed)
    row = replace(run.new_run(made, "", None), name=name)
    rng = np.random.default_rng(seed)
    with Store.open(db) as store:
        store.add_run(row)
        for trial in made.trials:
            combination, setting = made.combinations[trial.combination], made.settings[trial.setting]
            name = setting.label.removesuffix(" (control)")
            throughput = 1e8 * float(np.exp(effect(name, combination.load.threads) + rng.normal(0, 0.01)))
            store.add(
                Record(
                    run_id=row.run_id,
                    trial=trial.index,
                    repetition=trial.repetition,
                    combination=combination.key,
                    setting=setting.label + (" (drift check)" if trial.role == "sentinel" else ""),
                    factors={},
                    provenance=provenance,
                    seed=trial.seed,
                    started_at="2026-01-01T00:00:00Z",
                    phases=(
                        Phase(
                            "seq_read",
                            1.0,
                            round(throughput),
                            4000,
                            {1000: 3900, 5000: 100},
                            1e14 / throughput,
                            5000,
                            CpuSeconds(0.0, 0.1),
                        ),
                    ),
                    environment={"devices": [{"model": "Disk", "serial": serial}], "kernel": "6.1.0"},
                    conditions={"role": trial.role},
                )
            )
        store.end_run(row.run_id, "complete")
    return row.run_id


def compare(db: Path, *arguments: str):
    return CliRunner().invoke(command, [*arguments, "--db", str(db)], standalone_mode=False)


def document(db: Path, *arguments: str) -> dict:
    result = compare(db, *arguments, "--json")
    assert result.exception is None, result.exception
    return json.loads(result.stdout)


def test_equal_runs_show_no_change(tmp_path: Path) -> None:
    db = tmp_path / "db"
    a, b = add(db, 1), add(db, 2)
    found = document(db, a, b, "--fail-if", "worse", "--fail-if", "better")
    assert found["schema"] == "seekwise.compare/2"
    assert not found["counts"].keys() & {"worse", "better"} and found["counts"]["same"] > 0


def worse_at_8(name: str, threads: int) -> float:
    return -0.2 if name == "b" and threads == 8 else 0.0


def test_a_measured_difference_is_believed_when_a_second_pair_of_runs_shows_it(tmp_path: Path) -> None:
    db = tmp_path / "db"
    add(db, 1, name="before"), add(db, 2, name="after", effect=worse_at_8)
    once = document(db, "before", "after", "--fail-if", "difference")
    assert once["counts"]["unconfirmed"] and "worse" not in once["counts"] and len(once["pairs"]) == 1
    shown = " ".join(compare(db, "before", "after").stdout.split())
    assert "after against before: not confirmed; one pair of runs shows" in shown
    assert "To confirm, repeat both: seekwise run s … --name before, then --name after." in shown
    add(db, 3, name="before"), add(db, 4, name="after")
    denied = document(db, "before", "after")
    assert denied["counts"]["unconfirmed"] and len(denied["pairs"]) == 2, "the second pair shows no difference"
    add(db, 5, name="back"), add(db, 6, name="there", effect=worse_at_8)
    add(db, 7, name="back"), add(db, 8, name="there", effect=worse_at_8)
    twice = document(db, "back", "there")
    worse = [each for each in twice["changes"] if each["verdict"] == "worse" and each["metric"] == "rate"]
    assert {each["setting"] for each in worse} == {"b"} and any("threads=8" in each["use"] for each in worse)
    assert "shown by 2 pairs of runs" in " ".join(compare(db, "back", "there").stdout.split())
    assert isinstance(compare(db, "back", "there", "--fail-if", "worse").exception, NotMetError)


def test_a_regression_is_found_where_it_is_and_fails_if_asked(tmp_path: Path) -> None:
    db = tmp_path / "db"
    a = add(db, 1, provenance="simulated")
    b = add(db, 2, provenance="simulated", effect=worse_at_8)
    found = document(db, a, b)
    worse = [
        c for c in found["changes"] if c["verdict"] == "worse" and c["metric"] == "rate" and "threads=8" in c["use"]
    ]
    assert [c["setting"] for c in worse] == ["b"]
    assert worse[0]["low"] < np.exp(-0.2) < worse[0]["high"] < 1
    assert isinstance(compare(db, a, b, "--fail-if", "worse").exception, NotMetError)
    assert compare(db, a, b, "--fail-if", "unknown").exception is None or found["counts"]["unknown"]
    # The other way round it is better.
    turned = document(db, b, a)
    assert turned["counts"]["better"] == found["counts"]["worse"]
    assert isinstance(compare(db, b, a, "--fail-if", "difference").exception, NotMetError)
    assert not isinstance(compare(db, b, a, "--fail-if", "worse").exception, NotMetError)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"serial": "S2"}, "different devices: Disk S1 against Disk S2"),
        ({"runtime": "2s"}, "different load in system=disk threads=1: phases seq_read 1.0 against seq_read 2.0"),
        ({"block_bytes": "64k"}, "block_bytes 4096 against 65536"),
        ({"direct": False, "memory_limit": "256m"}, "direct True against False"),
        ({"threads": [64]}, "no combination of workload and configuration in common"),
    ],
)
def test_what_does_not_compare_is_refused_with_the_reason(tmp_path: Path, change: dict, words: str) -> None:
    db = tmp_path / "db"
    a, b = add(db, 1), add(db, 2, **change)
    refusal = compare(db, a, b).exception
    assert isinstance(refusal, UsageError)
    assert words in f"{refusal.message} {refusal.hint}"


def test_a_run_is_not_compared_with_itself(tmp_path: Path) -> None:
    db = tmp_path / "db"
    a = add(db, 1)
    assert isinstance(compare(db, a, a).exception, UsageError)


def test_a_model_and_a_machine_do_not_compare(tmp_path: Path) -> None:
    db = tmp_path / "db"
    refusal = compare(db, add(db, 1), add(db, 2, provenance="simulated")).exception
    assert isinstance(refusal, UsageError) and "one is measured, the other simulated" in refusal.message


def test_of_runs_with_too_few_repetitions_nothing_is_known(tmp_path: Path) -> None:
    db = tmp_path / "db"
    files = Path(__file__).parents[1] / "importing/files"
    for name in ("none", "bfq"):
        words = ["import", str(files / f"fio-{name}.1.json"), "--name", name, "--setting", "x", "--db", str(db)]
        assert CliRunner().invoke(cli, words, standalone_mode=False).exception is None
    assert document(db, "none", "bfq")["counts"].keys() == {"unknown"}
    assert "were not measured long enough to say" in " ".join(compare(db, "none", "bfq").stdout.split())


def test_what_differs_beside_the_settings_is_said(tmp_path: Path) -> None:
    db = tmp_path / "db"
    a, b = add(db, 1), add(db, 2)
    found = document(db, a, b)
    assert found["notes"][0].startswith("The runs were not interleaved")
    text = compare(db, a, b, "--all").stdout
    assert f"{b} against {a}" in text and "no difference shown" in text


def test_a_run_without_a_known_device_is_refused() -> None:
    from seekwise.judge.compare import ComparedRun, reasons_against

    side = ComparedRun("r", [], {"c": {}}, ())
    assert any("which device" in reason for reason in reasons_against(side, replace(side, run_id="s")))


def test_a_change_has_the_direction_of_the_values_beside_it():
    """One round against twelve loose figures: the estimate leans on those, and was drawn on the better side."""

    def figure(use: str, value: float, seed: int, rounds: int, spread: float) -> UseFigure:
        random = np.random.default_rng(seed)
        values = tuple(("a", n, float(np.log(value) + random.normal(0, spread)), None) for n in range(rounds))
        return UseFigure(use, "rate", "/s", True, 0.05, Values(("a",), values), conditions=Conditions(family="x"))

    for spread in (0.05, 0.1, 0.2, 0.3):
        base, new = ([figure(f"u{n}", 180, at + n, 5, spread) for n in range(12)] for at in (0, 100))
        found = changes([*base, figure("odd", 180, 50, 1, 0.01)], [*new, figure("odd", 150, 51, 1, 0.01)])
        assert all(change.ratio == pytest.approx(change.after / change.before) for change in found)
        assert all(change.low <= change.ratio <= change.high for change in found)
        assert found[-1].ratio < 0.85 and found[-1].verdict == "unknown"
