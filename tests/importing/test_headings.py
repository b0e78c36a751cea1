"""Several tables of one text: what stands above each names its set-up; words around them are passed over."""

from pathlib import Path

import pytest

from seekwise import importing
from seekwise.errors import SeekwiseError
from seekwise.importing.result import parse_given

FILES = Path(__file__).parent / "files"
BEFORE = "root@host:~# run it 2>&1 | tee out.txt\nwarning: something is 30% off (see 12 of 13)\n\nHi all, here are my numbers:\n\n"
BEHIND = "\n\nAs you can see, bfq is about 20% faster than cfq, 3 times of 5.\nOn 2024-01-01 it was 10.5 MB/s.\n-- \nJohn\nroot@host:~# \n"
TEXTS = sorted(path.name for path in FILES.iterdir() if path.suffix in (".txt", ".json"))


def figures(path: Path, given: list[str]) -> list:
    try:
        _, records = importing.read([path], given=parse_given(given))
    except SeekwiseError as error:
        return [error.message.partition(": ")[2]]
    return [(r.combination, r.setting, [(p.operation, p.bytes, p.ios) for p in r.phases]) for r in records]


@pytest.mark.parametrize("name", TEXTS)
def test_prompts_warnings_and_prose_change_nothing(tmp_path, name):
    given = ["threads=2"] + (["operation=rand_read"] if "fio-terse" in name else [])
    given = given if "terse" in name else []
    path = tmp_path / name
    path.write_text(BEFORE + (FILES / name).read_text() + BEHIND)
    assert figures(path, given) == figures(FILES / name, given)


@pytest.mark.parametrize("name", ["tiotest-head-4-threads.txt", "tiobench-head.txt", "sysbench-rndrd.txt"])
def test_a_heading_above_each_table_names_its_set_up(tmp_path, name):
    text = (FILES / name).read_text()
    path = tmp_path / "mail.txt"
    path.write_text(f"Hello,\n\n## deadline:\n\n{text}\n\n## cfq:\n\n{text}\nBye\n")
    found = figures(path, [])
    assert {setting for _, setting, _ in found} == {"deadline", "cfq"}
    assert [rest for _, setting, rest in found if setting == "cfq"] == [
        rest for _, _, rest in figures(FILES / name, [])
    ]


@pytest.mark.parametrize("name", ["tiotest-head-4-threads.txt", "tiobench-head.txt", "sysbench-rndrd.txt"])
def test_tables_without_headings_are_repeats_and_that_is_said(tmp_path, name):
    path = tmp_path / "mail.txt"
    path.write_text(2 * ((FILES / name).read_text() + "\n"))
    run, records = importing.read([path])
    assert {record.repetition for record in records} == {1, 2}
    assert any("taken for repeats" in note for note in run.plan["notes"])


def typed(*runs: tuple[str, str]) -> str:
    """A session: before each run a line, then fio and the end of its output, 60 s at so many MiB/s."""
    command = "$ fio --name=x --rw=randwrite --bs=4k --iodepth=16 --direct=1 --ioengine=libaio --runtime=60"
    ends = "  WRITE: bw={0}MiB/s (1kB/s), {0}MiB/s-{0}MiB/s (1kB/s-1kB/s), io={1}MiB (1MB), run=60000-60000msec\n"
    return "".join(f"{before}{command}\n{ends.format(rate, 60 * int(rate))}" for before, rate in runs)


@pytest.mark.parametrize(
    ("first", "second", "named"),
    [
        ("# mq-deadline\n", "# bfq\n", ["mq-deadline", "bfq"]),
        ("", "$ echo bfq > /sys/block/sdb/queue/scheduler\n", ["before", "scheduler bfq"]),
        ("", "# echo 1 | sudo tee /sys/block/sdb/device/queue_depth\n", ["before", "queue_depth 1"]),
        ("", "", ["session", "session"]),
    ],
)
def test_each_command_of_a_session_is_a_run_named_by_what_was_switched_before_it(tmp_path, first, second, named):
    path = tmp_path / "session.txt"
    path.write_text(typed((first, "4"), (second, "3")))
    found = figures(path, [])
    assert [setting for _, setting, _ in found] == named
    assert [phases[0][:2] for *_, phases in found] == [("rand_write", 240 << 20), ("rand_write", 180 << 20)]


def test_runs_of_sysbench_between_which_a_shell_switched_are_no_repeats(tmp_path):
    text = (FILES / "sysbench-rndrd.txt").read_text()
    path = tmp_path / "session.txt"
    path.write_text(f"{text}\n# echo none >/sys/block/sda/queue/scheduler\n{text}")
    assert [setting for _, setting, _ in figures(path, [])] == ["before", "scheduler none"]
