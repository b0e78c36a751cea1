"""Uses whose jobs are programs on the simulator: recordings are played, and units of work are judged."""

import json

import numpy as np
import pytest

from seekwise.errors import UsageError
from seekwise.measure.live import simulated
from seekwise.simulate import use_programs, use_trials
from seekwise.workload.study.uses import loads

START = """
title = "Start a program while files are copied"
unit = "start"
[[job]]
name = "start"
role = "foreground"
program = "start"
judge = ["time", "tail"]
[[job]]
name = "copy"
role = "background"
program = "copy"
counts = "bytes"
judge = ["done"]
"""
DATABASE = """
title = "Transactions of four processes"
unit = "transaction"
[[job]]
name = "transactions"
role = "foreground"
program = "sqlite"
jobs = 4
judge = ["done", "tail"]
"""


def units_of(use, name, scheduler, seed=1, target="model:generic_1tb_sata"):
    """Units of a job on a drive, and the phase they come from."""
    model = use_trials.model_of(target, None)
    spec = use_trials.program_spec(
        model.system, model.rotational, model.capacity_bytes, use, {"scheduler": scheduler}, seed, 0.3
    )
    (result,) = use_programs.simulated([spec], 1)
    assert "error" not in result, result
    phase = result["phases"][0]
    return simulated._operations(use, phase)[name], phase


def test_a_start_during_a_copy_takes_longer_on_a_disk_and_hardly_on_flash():
    with_copy = loads(START, "beside.toml")
    alone = with_copy.model_copy(update={"job": with_copy.job[:1]})
    took = {}
    for target in ("model:generic_1tb_sata", "model:samsung_980_pro_1tb"):
        for name, use in (("alone", alone), ("beside", with_copy)):
            starts, _ = units_of(use, "start", "none", target=target)
            took[target, name] = float(np.median(starts.latency_ns)) / 1e9
    disk, flash = (took[target, "alone"] for target in ("model:generic_1tb_sata", "model:samsung_980_pro_1tb"))
    assert 1 < disk < 60 and 0.2 < flash < 3
    assert took["model:generic_1tb_sata", "beside"] > 1.5 * disk
    assert took["model:samsung_980_pro_1tb", "beside"] < 1.5 * flash


def test_transactions_wait_for_their_commits_and_for_each_other():
    use = loads(DATABASE, "database.toml")
    together, phase = units_of(use, "transactions", "none")
    one = use.model_copy(update={"job": [use.job[0].model_copy(update={"jobs": 1})]})
    alone, _ = units_of(one, "transactions", "none")
    # A turn of the platters for each flush at least.
    assert np.median(alone.latency_ns) > 8e6
    assert np.median(together.latency_ns) > 2 * np.median(alone.latency_ns)
    assert len(together.end_s) < 2 * len(alone.end_s)
    assert len(set(together.process)) == 4
    assert phase["device_bytes"] > 0


def test_the_same_seed_gives_the_same_units_and_another_seed_others():
    use = loads(DATABASE, "database.toml")
    first, again, other = (units_of(use, "transactions", "bfq", seed)[0].latency_ns for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_answer_speaks_of_units(tune, tmp_path):
    path = tmp_path / "beside.toml"
    path.write_text(START)
    done = tune("model:samsung_850_evo", "--for", str(path), "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    # Too few starts for a tail.
    assert {each["metric"] for each in document["uses"]} == {"time", "background_done"}
    times = next(each for each in document["uses"] if each["metric"] == "time")
    assert times["value_unit"] == "ms" and all(200 < each["value"] < 60_000 for each in times["candidates"])


def test_what_no_recording_says_is_refused_or_left_out():
    text = DATABASE.replace('program = "sqlite"', 'program = "sqlite"\nread_rows = 77')
    use = loads(text, "other.toml")
    with pytest.raises(UsageError, match="no recording ships"):
        use_trials.check_uses([use])
    left, said = use_trials.check_uses([use, loads(DATABASE, "database.toml")])
    assert [each.name for each in left] == ["database"] and "other is left out" in said[0]
