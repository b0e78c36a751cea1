"""Arrays of a study on the simulated backend: what may be written, what is refused, what comes with the result."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from seekwise.cli.run import command
from seekwise.errors import UsageError
from seekwise.judge import arrays as shown
from seekwise.simulate import arrays
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.workload.study import planning, starters
from seekwise.workload.study.study import Study


def study(settings: dict | None = None, **system: object) -> Study:
    array = {"name": "a", "drive": "generic_1tb_sata", "drives": 4, "raid_level": "raid5", "chunk_kib": 64}
    return Study.model_validate({
        "name": "array",
        "backend": "simulated",
        "system": [{**array, **system}],
        "settings": settings or {"scheduler": ["mq-deadline"]},
        "workload": [{"operations": ["rand_read", "rand_write"], "threads": 2, "random_ios": 30}],
        "design": {"blocks": 1, "control": False, "sentinel": False},
    })  # fmt: skip


def records(given: Study) -> list:
    backend = SimulatedBackend()
    plan = planning.make(given, backend.describe(given))
    backend.check(plan)
    with backend.session(plan, "r", lambda _: None) as session:
        return list(session.run(list(plan.trials), {}))


def test_settings_sweep_level_drives_chunk_scheduler_and_ncq() -> None:
    made = records(
        study({
            "raid_level": ["raid0", "raid5"],
            "drives": [4, 6],
            "chunk_kib": [64, 512],
            "scheduler": ["mq-deadline", "bfq"],
            "queue_depth": [1, 31],
        })
    )  # fmt: skip
    assert len(made) == 32
    rows = shown.rows(made)
    assert len({row.name for row in rows}) == len(rows) == 8
    assert {row.survives_failures for row in rows} == {0, 1}
    assert all(set(row.rates_mb_s) == {"rand_read", "rand_write"} for row in rows)


@pytest.mark.parametrize("kernel", ["2.6.24", "2.6.32", "4.4", "4.19", "5.10", "6.1", "6.12"])
def test_every_kernel_drives_an_array(kernel: str) -> None:
    scheduler = "deadline" if kernel in ("2.6.24", "2.6.32", "4.4") else "mq-deadline"
    (record,) = records(study({"scheduler": [scheduler]}, kernel=kernel))
    assert [phase.operation for phase in record.phases] == ["rand_read", "rand_write"]


def test_capacity_failures_and_rebuild_stand_beside_the_rates() -> None:
    (row,) = shown.rows(records(study()))
    assert row.name == "RAID 5 of 4, chunk 64 KiB"
    assert row.capacity_bytes == pytest.approx(3e12, rel=0.01)
    assert row.survives_text == "1 failure"
    assert 3600 < row.rebuild_s < 8 * 3600


def test_the_md_thread_is_charged_with_parity() -> None:
    (record,) = records(study())
    read, write = record.phases
    assert not read.cpu.kernel_threads
    assert 0 < write.cpu.kernel_threads["md"] < write.elapsed_s


@pytest.mark.parametrize(
    ("system", "settings", "sentence"),
    [
        ({"drives": 2}, None, "RAID 5 needs at least 3 members, not 2"),
        ({"chunk_kib": 48}, None, "a RAID 5 chunk is a power of two, not 48 KiB"),
        ({"raid_level": None}, None, "has 4 drives and no `raid_level`"),
        ({"raid_level": "raid7"}, None, "there is no RAID level raid7"),
        ({"raid_level": "raid10", "layout": "n5"}, None, "RAID 10 with 5 copies needs as many members, not 4"),
        ({"raid_level": "raid1"}, None, "RAID 1 has no chunks"),
        ({"options": {"missing": 2}}, None, "does not survive the loss of"),
        ({}, {"drives": [4, 2]}, "RAID 5 needs at least 3 members, not 2"),
        ({}, {"chunk_kib": [64, 100]}, "a RAID 5 chunk is a power of two, not 100 KiB"),
        ({"chunk_kib": [64, 128]}, None, "an array has one"),
    ],
)
def test_what_mdadm_would_not_make_is_refused_before_the_first_trial(
    system: dict, settings: dict | None, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        SimulatedBackend().describe(study(settings, **system))


def test_a_resync_and_a_rebuild_are_states_of_a_study() -> None:
    (resync,) = records(study(options={"resync_kib_s": 1000}))
    assert resync.load["array"]["state"] == "resync"
    assert shown.rows([resync])[0].survives_text == "no failure"
    (rebuild,) = records(study({"scheduler": ["mq-deadline"], "missing": [1], "resync_kib_s": [1000]}))
    assert rebuild.load["array"]["state"] == "rebuild"
    assert rebuild.phases[0].details["resync"]["kib_per_s"] > 800


def test_missing_drives_of_raid10_are_no_copies_of_each_other() -> None:
    given = study(raid_level="raid10", options={"missing": 2})
    assert arrays.array_spec(given.system[0], {})["missing"] == [0, 2]
    records(given)


def test_the_starter_study_runs_and_its_arrays_are_in_the_json(tmp_path) -> None:
    text = starters.text("raid-levels").replace('"10s"', '"200ms"').replace("blocks = 3", "blocks = 1")
    file = tmp_path / "short.toml"
    file.write_text(text)
    database = tmp_path / "runs.db"
    done = CliRunner().invoke(command, [str(file), "--db", str(database), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["arrays"]
    # Each array whole, as the study has it; with a failed drive and while it is rebuilt beside that, where it survives one.
    assert [row["survives_failures"] for row in found if not row["beyond_study"]] == [0, 1, 2, 1]
    assert len([row for row in found if row["beyond_study"]]) == 2 * 3
    assert all(row["capacity_bytes"] > 1e12 for row in found)


def test_read_ahead_is_a_setting_of_a_buffered_load() -> None:
    given = study({"scheduler": ["deadline"], "read_ahead_kb": [16, 512]}, kernel="4.4", raid_level="raid0")
    load = {"operations": ["seq_read"], "direct": False, "size": "300m", "memory_limit": "128m"}
    given = Study.model_validate({**given.model_dump(exclude_unset=True), "workload": [load]})
    narrow, wide = sorted(records(given), key=lambda record: record.factors["read_ahead_kb"])
    assert 1.5 * narrow.phases[0].rate_bytes_per_s < wide.phases[0].rate_bytes_per_s


def test_a_study_of_an_array_that_only_resyncs_shows_it(tmp_path) -> None:
    path = tmp_path / "resync.toml"
    path.write_text(
        'name = "resync"\nbackend = "simulated"\n[[system]]\nname = "a"\ndrive = "generic_1tb_sata"\ndrives = 3\nraid_level = "raid5"\n'
        'options = { resync_kib_s = 20000 }\n[settings]\nscheduler = ["none"]\n[[workload]]\noperations = ["rand_read"]\nrandom_ios = 30\n'
        "[design]\nblocks = 1\ncontrol = false\nsentinel = false\n"
    )
    done = CliRunner().invoke(command, [str(path), "--db", str(tmp_path / "run.db")])
    assert done.exit_code == 0, done.output
    assert "resyncing" in done.output
