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
