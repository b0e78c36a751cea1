"""A study that is wrong is refused in one sentence: file, key, value, what is allowed."""

import pytest

from seekwise.errors import UsageError
from seekwise.workload.study import parse, profiles, starters

GOOD = """
name = "small"
[[system]]
name = "disk"
target = "."
[settings]
scheduler = ["none", "mq-deadline"]
iosched.read_expire = [100, 500]
[[workload]]
operations = "rand_read"
threads = [1, 8]
runtime = "1s"
"""


def refused(text: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse.loads(text, "study.toml")
    assert "study.toml" in caught.value.message
    assert not caught.value.message.endswith(".")
    return caught.value


def test_a_study_is_read_with_its_defaults():
    study = parse.loads(GOOD, "study.toml")
    assert study.settings == {"scheduler": ["none", "mq-deadline"], "iosched.read_expire": [100, 500]}
    assert study.workload[0].operations == ["rand_read"]
    assert study.workload[0].direct is True
    assert study.design.blocks == 5


@pytest.mark.parametrize(
    ("old", "new", "words", "hint"),
    [
        ('name = "small"', "", "`name` is missing", None),
        ("threads = [1, 8]", "treads = [1, 8]", "unknown key `workload[0].treads`", "did you mean `threads`?"),
        ('"rand_read"', '"rand_raed"', 'must be one of "seq_read", "seq_write", "rand_read", "rand_write"', "did you mean `rand_read`?"),
        ('"1s"', '"1 parsec"', "`workload[0].runtime` is '1 parsec', but must be a time", None),
        ("threads = [1, 8]", "threads = [0]", "`workload[0].threads[0]` is 0, but must be at least 1", None),
        ("threads = [1, 8]", 'threads = ["one"]', "`workload[0].threads[0]` is 'one', but must be a whole number", None),
        ("scheduler =", "schedular =", "unknown setting `settings.schedular`", "did you mean `scheduler`?"),
        ('["none", "mq-deadline"]', '["none", "none"]', "`settings.scheduler` has 'none' twice", None),
        ('["none", "mq-deadline"]', "[]", "`settings.scheduler` is empty", "each value must be a name"),
        ("[100, 500]", "[100, -1]", "`settings.iosched.read_expire` has -1, but must be a whole number from 0", None),
        ('operations = "rand_read"', 'profile = "quik"', "unknown profile", "did you mean `quick`?"),
        ('operations = "rand_read"', "", "exactly one of `profile`, `job`, `use` and `operations`", None),
        ('runtime = "1s"', 'size = "1k"', "is smaller than a block", None),
        ('runtime = "1s"', 'memory_limit = "64m"', "`memory_limit` is for buffered loads", None),
        ('runtime = "1s"', 'io_class = "rt"', 'must be one of "realtime", "best-effort", "idle"', None),
        ('runtime = "1s"', "io_priority = 8", "`workload[0].io_priority` is 8, but must be at most 7", None),
        ('runtime = "1s"', 'beside = { name = "log", operation = "seq_write" }', "`beside` needs a `runtime`", None),
        ('runtime = "1s"', 'runtime = "1s"\nbeside = { name = "log", operation = "rand_read" }', "`rand_read` is named twice", None),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_what_is_allowed(old, new, words, hint):
    error = refused(GOOD.replace(old, new))
    assert words in error.message
    if hint is not None:
        assert hint in error.hint


def test_several_mistakes_are_named_and_the_first_is_told():
    error = refused(GOOD.replace("threads", "treads").replace('name = "disk"', 'name = "disk"\nsize = 3'))
    assert "`system[0].size`" in error.message
    assert "`workload[0].treads`" in error.hint


def test_a_text_that_is_not_toml_names_line_and_column():
    assert "not TOML" in refused("name = ").message
    assert "line 2" in refused("name = 1\nname 2\n").message


def test_a_file_that_is_not_there_is_answered_with_what_lists_the_studies(tmp_path):
    with pytest.raises(UsageError) as caught:
        parse.load(tmp_path / "none.toml")
    assert str(tmp_path / "none.toml") in caught.value.message
    assert "seekwise run" in caught.value.hint


def test_a_job_file_is_looked_for_beside_the_study(tmp_path):
    (tmp_path / "study.toml").write_text(GOOD.replace('operations = "rand_read"', 'job = "my.fio"'))
    with pytest.raises(UsageError, match=r"no file .*my\.fio"):
        parse.load(tmp_path / "study.toml")
    (tmp_path / "my.fio").write_text("[a]\nrw=read\n")
    assert parse.load(tmp_path / "study.toml").workload[0].job == tmp_path / "my.fio"


def test_every_study_and_profile_that_ships_is_good():
    assert {"schedulers", "demo"} <= set(starters.names())
    for name in starters.names():
        parse.loads(starters.text(name), name)
    assert {"tiotest", "sweep", "quick"} <= set(profiles.names())


def test_tiotest_has_the_articles_phases_in_its_order():
    load = profiles.resolve(parse.loads(GOOD.replace('operations = "rand_read"', 'profile = "tiotest"').replace("threads = [1, 8]\n", "").replace('runtime = "1s"\n', ""), "s").workload[0])  # fmt: skip
    assert load.operations == ["seq_write", "rand_write", "seq_read", "rand_read"]
    assert load.threads == [1, 2, 4, 8]
    assert load.block_bytes == [4096]


def test_what_a_study_says_itself_wins_over_its_profile():
    text = GOOD.replace('operations = "rand_read"', 'profile = "sweep"').replace('runtime = "1s"', 'size = "40m"')
    load = profiles.resolve(parse.loads(text, "s").workload[0])
    assert load.threads == [1, 8]
    assert load.size == 40 * 2**20
    assert load.block_bytes[0] == 8192
    assert load.block_bytes[-1] == 20000 * 1024


ARRAY = """
name = "array"
[[system]]
name = "array"
drive = "wd2500ys"
drives = 4
raid_level = "raid5"
{}
[[workload]]
operations = ["rand_read"]
"""


@pytest.mark.parametrize("line", ["missing = 1", "options = { missing = 1 }"])
def test_what_describes_an_array_may_stand_beside_its_level(line):
    assert parse.loads(ARRAY.format(line), "array.toml").system[0].options == {"missing": 1}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("missing = 1\noptions = { missing = 2 }", "`missing` stands here and under `options`"),
        ("missing = [0, 1]", "`missing` takes one value here; several go under `[settings]`"),
        ('missing = "x"', "`system[0].missing` has 'x', but must be a whole number from 0 to 384"),
        ("mising = 1", "unknown key `system[0].mising`"),
        ('bitmap = "yes"', "`system[0].bitmap` has 'yes'"),
    ],
)
def test_a_wrong_description_of_an_array_is_named(line, words):
    with pytest.raises(UsageError) as error:
        parse.loads(ARRAY.format(line), "array.toml")
    assert words in error.value.message
