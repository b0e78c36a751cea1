"""Uses as data: those that ship, and files of one's own."""

import pytest

from seekwise.errors import UsageError
from seekwise.workload.study import uses

GOOD = """
title = "Mine"
[[job]]
name = "reads"
role = "foreground"
pattern = "random read"
block = "4k:60 64k:40"
judge = ["rate", "p99"]
"""


def test_every_shipped_use_is_valid_and_judges_its_foreground():
    assert len(uses.shipped()) >= 12
    for use in uses.shipped():
        assert any(metric.role == "foreground" for metric in use.metrics), use.name
        assert len({metric.name for metric in use.metrics}) == len(use.metrics)


def test_the_groups_that_people_ask_for_are_there():
    assert {"desktop", "database", "virtual-machines", "limits"} <= set(uses.groups())


def test_the_limits_are_measured_for_those_who_ask_and_lead_nothing():
    assert all(use.group != "limits" for use in uses.chosen(None))
    limits = uses.chosen("limits")
    assert len(limits) >= 6 and not any(use.runs_programs for use in limits)


def test_where_no_program_runs_such_uses_are_left_out_with_a_word_and_refused_when_asked_for():
    left, said = uses.without_programs(
        uses.chosen(None, on_device=True), "a bare device has no file system", named=False
    )
    assert left and not any(use.runs_programs for use in left)
    assert "commands-copy" in said[0] and "file system" in said[0]
    with pytest.raises(UsageError) as error:
        uses.without_programs(uses.chosen("desktop-copy"), "a bare device has no file system", named=True)
    assert "desktop-copy" in error.value.message and "limits" in error.value.hint


def test_a_process_on_each_processor_is_for_nvme_drives_and_left_out_elsewhere_with_a_word(monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 24)
    limits = [use for use in uses.chosen("limits") if not use.runs_programs]
    parallel = [use.name for use in limits if use.drives == "nvme"]
    assert parallel == ["parallel-reads", "parallel-reads-1"]
    assert uses.for_drives(limits, ["nvme", "nvme"]) == (limits, [])
    left, (said,) = uses.for_drives(limits, ["disk"])
    assert not any(use.name in parallel for use in left)
    assert said.endswith(": parallel-reads, parallel-reads-1") and "NVMe" in said
    with pytest.raises(UsageError):
        uses.for_drives(uses.chosen("parallel-reads"), ["disk"])
    (job, *_) = uses.loads(GOOD + 'jobs = "processors"\n', "mine.toml").job
    assert job.jobs == uses.PROCESSORS_MOST
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    assert not any(use.drives for use in uses.for_drives(limits, ["nvme"])[0])


def test_a_group_and_a_name_choose_uses():
    assert "desktop-copy" in {use.name for use in uses.chosen("desktop")}
    assert [use.name for use in uses.chosen("random-read,web-server")] == ["web-server", "random-read"]


def test_an_unknown_use_names_what_there_is():
    with pytest.raises(UsageError) as error:
        uses.chosen("deskop")
    assert "desktop" in error.value.hint


def test_a_file_of_ones_own_is_read(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD)
    (use,) = uses.chosen(str(path))
    assert use.name == "mine" and use.group == "own"
    assert use.job[0].block == {4096: 60, 65536: 40}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("4k:60 64k:40", "4k:60 64k:30"), "add up to 90"),
        (("random read", "backwards"), "pattern"),
        (('role = "foreground"', 'role = "background"'), "judges nothing"),
        (('block = "4k:60 64k:40"', "depth = 4\ndirect = false"), "buffered"),
        (('"rate", "p99"', '"speed"'), "judge"),
        (("title", "titel"), "titel"),
        (('block = "4k:60 64k:40"', 'block = "100"'), "512"),
    ],
)
def test_what_is_wrong_is_one_sentence(tmp_path, change, said):
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(*change))
    with pytest.raises(UsageError) as error:
        uses.load(path)
    assert said in error.value.message and "\n" not in error.value.message


def test_a_metric_knows_the_purpose_that_it_serves_and_the_unit_of_its_values():
    from seekwise.workload.study import uses

    use = uses.loads(
        """
        title = "Starts beside a copy"
        unit = "start"
        [[job]]
        name = "start"
        role = "foreground"
        pattern = "random read"
        judge = ["time", "tail"]
        [[job]]
        name = "copy"
        role = "background"
        pattern = "sequential write"
        counts = "bytes"
        judge = ["done"]
        """,
        "own.toml",
    )
    assert use.unit == "start"
    assert [(m.name, m.purpose, m.unit, m.figure) for m in use.metrics] == [
        ("time", "responsive", "ms", "time"),
        ("tail", "responsive", "ms", "tail"),
        ("background_done", "throughput", "MB/s", "rate"),
    ]
    alone = use.model_copy(update={"job": use.job[:1]})
    assert [m.purpose for m in alone.metrics] == ["throughput", "throughput"], "alone they say how much gets done"


PROGRAM = """
title = "Mine"
unit = "start"
[[job]]
name = "start"
role = "foreground"
program = "start"
judge = ["time", "tail"]
[[job]]
name = "copy"
role = "background"
program = "sqlite"
read_rows = 64
judge = ["done"]
"""


def test_a_program_has_its_own_parameters_and_they_are_kept_with_a_run():
    use = uses.loads(PROGRAM, "mine.toml")
    start, copy = use.job
    assert start.runs is not None and start.runs.unit == "start" and start.reads and not start.writes
    assert copy.parameters == {"read_rows": 64} and copy.writes
    assert uses.Use.model_validate(use.model_dump(mode="json")) == use


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('program = "start"', 'program = "stort"'), "start"),
        (("read_rows = 64", "rows = 64"), "rows"),
        (("read_rows = 64", 'read_rows = "x"'), "read_rows"),
        (('["time", "tail"]', '["p99"]'), "p99"),
        (("read_rows = 64", 'pattern = "random read"'), "exactly one"),
    ],
)
def test_what_is_wrong_with_a_program_is_one_sentence(change, said):
    with pytest.raises(UsageError) as error:
        uses.loads(PROGRAM.replace(*change), "mine.toml")
    assert said in error.value.message and "\n" not in error.value.message


def test_what_for_names_may_count_more(tmp_path):
    own = tmp_path / "mine.toml"
    own.write_text(GOOD)
    found = {use.name: use.weight for use in uses.chosen(f"desktop=3, database, {own}=0.5")}
    assert found["commands"] == 3 and found["database"] == 1 and found["mine"] == 0.5
    assert uses.by_name("commands-copy=2, desktop=3") == {"commands-copy"}
    equals = tmp_path / "a=b.toml"
    equals.write_text(GOOD)
    assert [use.weight for use in uses.chosen(str(equals))] == [1], "a name, no weight"


@pytest.mark.parametrize(
    "words", ["desktop=", "desktop=x", "desktop=0", "desktop=-1", "desktop=nan", "desktop=1e9", "=3"]
)
def test_a_weight_that_is_none_is_refused(words):
    with pytest.raises(UsageError) as raised:
        uses.chosen(words)
    assert raised.value.hint
