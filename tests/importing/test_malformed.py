"""Files that are not what their tool writes: one clear error each, which names the file and what is wrong."""

from pathlib import Path

import pytest

from seekwise import importing
from seekwise.errors import SeekwiseError
from seekwise.importing import build
from seekwise.importing.result import parse_given

HERE = Path(__file__).parent / "files"


def text(name):
    return (HERE / name).read_text()


def replaced(name, old, new):
    whole = text(name)
    assert old in whole, f"{old!r} is not in {name}"
    return whole.replace(old, new)


def cut(name, share):
    whole = text(name)
    return whole[: int(len(whole) * share)]


TERSE = text("fio-terse.txt").strip()
GNOME = (HERE / "gnome-disks.gnome-disks-benchmark").read_bytes()
XML_HEAD = '<?xml version="1.0"?><PhoronixTestSuite><Result><Identifier>pts/fio-2.1.0</Identifier>'

# (file name, content, words of the error)
CASES = [
    ("empty.txt", "", "is empty"),
    ("blank.txt", " \n\n", "is empty"),
    ("poem.txt", "roses are red\n", "no format that is known; it begins: 'roses are red'"),
    ("binary.dat", b"\x00\x01\x02\xff" * 50, "no format that is known"),
    ("nothing.json", "nothing", "has no JSON"),
    ("cut.json", cut("fio-none.1.json", 0.5), "breaks off or is damaged"),
    ("list.json", "[1, 2]", "has no JSON"),
    ("nojobs.json", '{"fio version": "fio-3.33", "jobs": []}', "lists no jobs"),
    ("wordjobs.json", '{"fio version": "fio-3.33", "jobs": ["a"]}', "has a job that is none"),
    ("emptyjob.json", '{"fio version": "fio-3.33", "jobs": [{}]}', "lacks '"),
    ("oldfio.json", replaced("fio-none.1.json", "lat_ns", "lat"), "lacks '"),
    ("runtime.json", replaced("fio-none.1.json", '"runtime" : ', '"runtime" : "long", "x": '), "impossible value"),
    ("terse2.txt", "2" + TERSE[1:], "version 2, only versions 3, 4, 5"),
    ("terse5.txt", "5" + TERSE[1:], "fields instead of at least 151"),
    ("tersecut.txt", TERSE[:200], "fields instead of at least"),
    ("tersewords.txt", TERSE.replace("120892", "many"), "'many', not a number"),
    ("tersename.txt", text("fio-terse-two.txt").replace(";w;", ";x;"), "sequential or random"),
    ("tersemoved.txt", TERSE.replace("99.000000%=", "99.000000="), "is no percentile"),
    ("a_lat.1.log", "1, 2\n", "has 2 fields"),
    ("b_lat.1.log", "1, 2, 7, 4096\n", "direction 7 is none of 0"),
    ("c_lat.1.log", "1, fast, 0, 4096\n", "'fast', not a number"),
    ("d_lat.1.log", "250, 300000, 0, 0, 0\n", "do not say how much was moved"),
    ("e_bw.1.log", "250, 300000, 0, 0, 0\n", "sequential or random"),
    ("f_clat_hist.1.log", "250, 0, 4096, 1, 2, 3\n", "3 bins instead of 1856"),
    ("g_bw.1.log", "0, 300000, 0, 0, 0\n", "cover no time"),
    ("h_bw.1.log", "-5, 300000, 0, 0, 0\n", "not possible"),
    ("tio-norows.txt", "Tiotest results for 4 concurrent io threads:\nSegmentation fault\n", "no row that can be read"),
    ("tio-cut.txt", replaced("tiotest-0.3.1.txt", "|  24.646 MB/s |", "|"), "the rate of 'Write' is missing"),
    ("tio-nocpu.txt", replaced("tiotest-0.3.1.txt", "|   0.7 %  |  60.8 % |", "|"), "the CPU of 'Write' is missing"),
    ("tio-zero.txt", replaced("tiotest-0.3.1.txt", "24.646", " 0.000"), "a rate of 0"),
    ("tio-threads.txt", replaced("tiotest-0.3.1.txt", "for 4 concurrent", "for 0 concurrent"), "speaks of 0 threads"),
    ("tio-terse.txt", "write:256.0,0.3\ntotal:0,0,0,0\n", "has 2 fields instead of 8"),
    ("tio-idle.txt", "write:0,0,0,0,0,0,0,0\ntotal:0,0,0,0\n", "ran no test"),
    ("tiobench-row.txt", replaced("tiobench-2.6.6.txt", "9.440%     0.298", "9.440%"), "is no row of tiobench"),
    ("tiobench-hash.txt", replaced("tiobench-2.6.6.txt", "  10.74", "######"), "did not fit its column"),
    ("tiobench-cut.txt", text("tiobench-2003-as-dl.txt").split("Random Reads")[0] + "Random Reads\n", "has no rows"),
    ("sys-cut.txt", text("sysbench-rndrd.txt").split("General statistics")[0], "total time is missing"),
    ("sys-cpu.txt", "sysbench 1.0.20\n\nPrime numbers limit: 10000\n", "no result of sysbench fileio"),
    ("sys-mode.txt", replaced("sysbench-rndrd.txt", "random read test", "levitation test"), "is unknown"),
    ("sys-idle.txt", replaced("sysbench-rndrd.txt", "33659.42", "0.00"), "no reads or writes"),
    ("pts-cut.xml", cut("phoronix.xml", 0.6), "no well-formed XML"),
    ("pts-other.xml", replaced("phoronix.xml", "pts/fio-2.1.0", "pts/x264-1").replace("pts/tiobench", "pts/y"), "no values of pts/fio"),
    ("pts-unit.xml", replaced("phoronix.xml", "<Scale>IOPS</Scale>", "<Scale>Points</Scale>"), "the unit 'Points'"),
    ("pts-bomb.xml", '<!DOCTYPE x [<!ENTITY a "b">]><PhoronixTestSuite>&a;</PhoronixTestSuite>', "document type"),
    ("pts-none.xml", '<PhoronixTestSuite></PhoronixTestSuite>', "has no `Result`"),
    ("pts-what.xml", XML_HEAD + "<Description>Levitation</Description><Scale>IOPS</Scale></Result></PhoronixTestSuite>", "does not say what was done"),
    ("pts-value.xml", replaced("phoronix.xml", "45.5:45.1:45.9", "45.5:fast:45.9"), "'fast', not a number"),
    ("gnome-cut", GNOME[:-300], "damaged benchmark of gnome-disks"),
    ("gnome-mixed", GNOME[:200] + b"\xff" * 64 + GNOME[264:], "impossible value nan"),
    ("gnome-empty", b"read-samples\0", "damaged benchmark of gnome-disks"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "words"), CASES, ids=[case[0] for case in CASES])
def test_a_malformed_file_is_one_clear_error(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SeekwiseError) as caught:
        importing.read([path], given=parse_given([]))
    said = f"{caught.value.message} {caught.value.hint or ''}"
    assert words in said
    assert name.split(".")[0].split("_")[0] in caught.value.message, "the error must name the file"
    assert "\n" not in caught.value.message
    assert not caught.value.message.endswith(".")


@pytest.mark.parametrize(
    "name", sorted(path.name for path in HERE.iterdir() if path.is_file() and path.suffix != ".md")
)
@pytest.mark.parametrize("share", [0.1, 0.35, 0.5, 0.66, 0.8, 0.93, 0.99])
def test_a_file_that_breaks_off_anywhere_is_read_or_refused_but_never_a_crash(tmp_path, name, share):
    whole = (HERE / name).read_bytes()
    path = tmp_path / name
    path.write_bytes(whole[: int(len(whole) * share)])
    try:
        _, records = importing.read([path], given=parse_given([]))
    except SeekwiseError as error:
        assert name.split(".")[0] in error.message
    else:
        assert all(phase.rate_bytes_per_s > 0 for record in records for phase in record.phases)


def test_missing_folders_and_double_files_are_errors(tmp_path):
    for files, words in (
        ([tmp_path / "absent"], "No such file"),
        ([tmp_path], "it is a folder"),
        ([HERE / "fio-none.1.json"] * 2, "named twice"),
    ):
        with pytest.raises(SeekwiseError, match=words):
            importing.read(files)


def test_files_are_read_up_to_a_bound_that_is_printed(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "RESULT_BYTES", 1 << 20)
    monkeypatch.setattr(build, "LOG_BYTES", 2 << 20)
    monkeypatch.setattr(build, "LOGS_BYTES", 3 << 20)
    large, first, second = tmp_path / "large.txt", tmp_path / "a_lat.1.log", tmp_path / "b_lat.1.log"
    large.write_bytes(b"x" * (3 << 19))
    for log in (first, second):
        log.write_bytes(b"1, 1, 0, 4096\n" * 130_000)
    with pytest.raises(SeekwiseError, match=r"1\.5 MiB, and 1 are read at most"):
        importing.read([large])
    with pytest.raises(SeekwiseError, match="together, and 3 are read at most"):
        importing.read([first, second])
