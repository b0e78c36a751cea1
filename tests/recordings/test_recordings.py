"""Recordings of programs: their files, and where they lie on a drive."""

from pathlib import Path

import pytest

from seekwise.simulate.recordings import placed, recording
from seekwise.simulate.recordings.recording import (
    BEGIN,
    END,
    FORGET,
    READ,
    SLEEP,
    WRITE,
    RecordedFile,
    Recording,
)
from seekwise.workload.study.uses import Job

SMALL = Recording(
    "copy",
    {},
    (RecordedFile("data/a", 10), RecordedFile("own/b", 20)),
    (((FORGET, 0, 0, 0, 0), (BEGIN, 0, 0, 0, 0), (READ, 0, 0, 10, 5000), (WRITE, 1, 0, 10, 7), (END, 0, 40960, 0, 1)),)
    * 2,
    {"recorded": "2026-11-23"},
)


def test_what_ships_is_small_has_whole_units_and_says_where_it_comes_from():
    programs = {each.program for each in recording.shipped()}
    assert {"start", "copy", "sqlite", "cat"} <= programs
    folder = Path(recording.__file__).parent / "shipped"
    assert all(file.stat().st_size < 1_000_000 for file in folder.iterdir())
    for each in recording.shipped():
        assert each.units > 0 and {"recorded", "kernel", "processor", "how"} <= set(each.provenance)
        for calls in each.processes:
            assert calls[-1][0] == END
            assert all(row[1] < len(each.files) for row in calls if row[0] in recording.ON_FILES)
        assert recording.find(each.program, each.parameters) == each
    assert recording.find("copy", {"nosuch": 1}) is None


def test_files_lie_apart_data_are_shared_and_each_worker_has_its_own():
    job = Job.model_validate({"name": "c", "role": "foreground", "program": "copy", "jobs": 3, "judge": ["time"]})
    made = placed.programs([(job, SMALL)], 2**40, 7, lead_ns=0, patience_ns=1)
    files = [each["files"] for each in made["programs"]]
    assert len({tuple(each[0]) for each in files}) == 1  # data/a
    assert len({tuple(each[1]) for each in files}) == 3  # own/b
    spans = sorted({tuple(extent) for each in files for extent in each} | {tuple(made["journal"])})
    assert all(first + pages <= then for (first, pages), (then, _) in zip(spans, spans[1:], strict=False))
    assert made["journal"][0] == 2**40 // 4096 // 2
    again = placed.programs([(job, SMALL)], 2**40, 8, lead_ns=0, patience_ns=1)
    assert again["programs"][0]["files"] != files[0]
    with pytest.raises(ValueError, match="do not fit"):
        placed.programs([(job, SMALL)], 2**17, 7, lead_ns=0, patience_ns=1)


def test_pauses_come_behind_units():
    job = Job.model_validate(
        {"name": "c", "role": "foreground", "program": "copy", "think_time": "10ms", "judge": ["time"]}
    )
    made = placed.programs([(job, SMALL)], 2**40, 7, lead_ns=0, patience_ns=1)
    kinds = [row[0] for row in made["recordings"][0]]
    assert kinds == [FORGET, BEGIN, READ, WRITE, END, SLEEP] * placed.TURNS
    pauses = [row[4] for row in made["recordings"][0] if row[0] == SLEEP]
    assert len(set(pauses)) == placed.TURNS
