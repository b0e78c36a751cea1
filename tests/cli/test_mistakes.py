"""Sixty typing errors and mistakes: each ends with one line that says what is wrong, one hint with the next step, and the right exit status."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from report.sample_live import live_outcome
from seekwise.cli import main as program
from seekwise.store.database import Store

FOREIGN = Path(__file__).parents[1] / "importing/files"
USAGE, MISSING = 2, 4

MISTAKES: list[tuple[str, int, str, str]] = [
    # commands
    ("tun /srv", USAGE, "no command is called `tun`", "did you mean `tune`?"),
    ("rnu demo", USAGE, "no command is called `rnu`", "did you mean `run`?"),
    ("aply last", USAGE, "no command is called `aply`", "did you mean `apply`?"),
    ("reslts", USAGE, "no command is called `reslts`", "did you mean `results`?"),
    ("benchmark", USAGE, "no command is called `benchmark`", ""),
    ("stauts", USAGE, "no command is called `stauts`", "did you mean `status`?"),
    ("wathif x", USAGE, "no command is called `wathif`", "did you mean `whatif`?"),
    ("help tnue", USAGE, "no command is called `tnue`", "did you mean `tune`?"),
    ("verify vectrs x", USAGE, "no command is called `vectrs`", "did you mean `vectors`?"),
    ("trace shwo x", USAGE, "no command is called `shwo`", "did you mean `show`?"),
    ('tune model:“Samsung 980 PRO”', USAGE, "needs a real device", 'is quoted: "model:Samsung 980 PRO"'),
    # options
    ("run demo --buget 5s", USAGE, "no such option '--buget'", "did you mean `--budget`?"),
    ("report last --outptu x", USAGE, "no such option '--outptu'", "did you mean `--output`?"),
    ("tune /tmp --fro desktop", USAGE, "no such option '--fro'", "did you mean `--for`?"),
    ("results --jsn", USAGE, "no such option '--jsn'", "did you mean `--json`?"),
    ("run demo --budget", USAGE, "requires an argument", "seekwise run --help"),
    ("run demo --budget 5x", USAGE, "'5x' is not a time", "seekwise run --help"),
    ("run demo --seed x", USAGE, "'x' is not a valid integer", "seekwise run --help"),
    ("run demo --budget -5s", USAGE, "", "seekwise run --help"),
    ("export last --format cvs", USAGE, "'cvs'", "did you mean `csv`?"),
    ("apply last --persist udve", USAGE, "'udve'", "did you mean `udev`?"),
    ("run demo --backend simluated", USAGE, "'simluated'", "did you mean `simulated`?"),
    ("apply --device DEVICE --set scheduler=none --limit 5% --dry-run", USAGE, "--limit is for --guard", "add `--guard 10m`"),
    ("tune /tmp --destroy vda", USAGE, "--destroy names an empty device", "a folder gets scratch files"),
    ("tune /tmp --destroy vda -- true", USAGE, "--destroy is for loads of ours", "leave it out"),
    ("tune /tmp /srv", USAGE, "/srv is a folder", "seekwise tune /srv"),
    ("design exos_x18 --for database --rate x", USAGE, "'x' is not a valid number", "seekwise design --help"),
    # studies
    ("run shedulers", USAGE, "no study at shedulers", "did you mean `schedulers`?"),
    ("run raid_level", USAGE, "no study at raid_level", "did you mean `raid-levels`?"),
    ("run", USAGE, "which study?", "raid-levels"),
    ("run nosuch.toml", USAGE, "nosuch.toml", ""),
    ("run demo extra", USAGE, "unexpected extra argument", "seekwise run --help"),
    ("run /tmp", USAGE, "is a folder, not a study", "seekwise tune /tmp"),
    ("tune /etc/passwd", USAGE, "/etc/passwd is a file", "seekwise tune /etc"),
    # drives
    ("tune model:exos_x81", USAGE, "no drive model is called `exos_x81`", "did you mean `exos_x18`?"),
    ("tune model:wd_red_4tb", USAGE, "no drive model of wd red 4tb; nearest: ultrastar_hc550", "model:ultrastar_hc550"),
    ("tune model:seagate-exos", USAGE, "means several drive models: exos_x18, exos_x20", "name one of them"),
    ("tune model:xyzzy", USAGE, "no drive model is called `xyzzy`", "seekwise explain models"),
    ("tune model:", USAGE, "no drive model is called ``", "seekwise explain models"),
    ("run schedulers --backend simulated --target samsng_980", USAGE, "`samsng_980`", "did you mean `samsung_980`?"),
    ("run schedulers --backend simulated", USAGE, "", ""),
    # schedulers, settings, uses, work
    ("tune model:exos_x18 --vary schedulr=bfq", USAGE, "no setting is called `schedulr`", "did you mean `scheduler`?"),
    ("tune model:exos_x18 --vary scheduler=bqf", USAGE, 'there is no scheduler `bqf`', "did you mean `bfq`?"),
    ("tune model:exos_x18 --vary scheduler", USAGE, "--vary takes NAME=VALUE", "for example"),
    ("tune model:exos_x18 --vary read_ahead_kb=5MB", USAGE, "whole number of KiB from 0; 5MB is 5120", ""),
    ("run rebuild --resume last", USAGE, "so it takes no study", "`seekwise run --resume last`"),
    ("design model:exos_x18", USAGE, "what is the array for", "seekwise design model:exos_x18 --for database"),
    ("tune model:exos_x18 --for responsive", USAGE, "`responsive` is a purpose", "advise last --for responsive"),
    ("advise LIVE --for respnsive", USAGE, "no use is called `respnsive`", "did you mean `responsive`?"),
    ("advise LIVE --for gamin", USAGE, "no use is called `gamin`", "responsive or throughput"),
    ("advise RUN --for throughput", USAGE, "`throughput` is a purpose", "tune PATH"),
    ("apply --for responsive", USAGE, "name a run", "`seekwise apply last --for responsive`"),
    ("tune model:exos_x18 --vary queue_depth=many", USAGE, "queue_depth=many", ""),
    ("tune model:exos_x18 --for databse", USAGE, "no use is called `databse`", "did you mean `database`?"),
    ("tune model:exos_x18 --for file_server", USAGE, "no use is called `file_server`", "did you mean `file-server`?"),
    ("tune model:exos_x18 --kernel six", USAGE, "six", ""),
    ("tune model:exos_x18 --kernel 9.9", USAGE, "Linux 9.9 is not modelled", ""),
    ("tune model:exos_x18 --kernel 4.30", USAGE, "there was no Linux 4.30: that series ended with 4.20", ""),
    ("design model:exos_x18 --for database --kernel 7.99", USAGE, "Linux 7.99 is not modelled", ""),
    ("apply --device DEVICE --set schduler=bfq --dry-run", USAGE, "no setting is called `schduler`", "did you mean `scheduler`?"),
    ("apply --device DEVICE --set scheduler=bqf --dry-run", USAGE, 'scheduler "bqf"', ""),
    ("apply --device DEVICE --set scheduler --dry-run", USAGE, "'scheduler' is not NAME=VALUE", "--set scheduler=bfq"),
    ("apply --device DEVICE", USAGE, "name a run, or a device and what to set", "seekwise apply last"),
    ("apply --set scheduler=bfq", USAGE, "name a run, or a device and what to set", "seekwise apply last"),
    ("advise LIVE --for datbase", USAGE, "no use is called `datbase`", "did you mean `database`?"),
    ("advise LIVE --for desktop=3,database", USAGE, "one use, group or purpose at a time", "tune PATH --for desktop=3,database"),
    ("advise --classes --for desktop=3", USAGE, "one use, group or purpose at a time", ""),
    ("tune model:samsung_pm9a3 --vary queue_depth=1,31", USAGE, "no `queue_depth`", "iodepth"),
    ("tune model:exos_x18 --kernel 2.6.24 --for database", USAGE, "from 5.0 on", ""),
    ("advise LIVE --for gaming", USAGE, "no use is called `gaming`", ""),
    ("advise LIVE --for backup", USAGE, "did not measure 'backup'", "sudo seekwise tune PATH --for backup"),
    ("advise RUN --for datbase", USAGE, "no use is called `datbase`", "did you mean `database`?"),
    # runs
    ("results lst", USAGE, "run `lst` is unknown", "did you mean `last`?"),
    ("results 19990101", USAGE, "run `19990101` is unknown", "newest runs"),
    ("compare RUN", USAGE, "missing argument 'RUN'", "seekwise compare --help"),
    ("compare RUN RUN", USAGE, "is named twice", "seekwise results"),
    ("compare RUN nosuch", USAGE, "run `nosuch` is unknown", "newest runs"),
    ("report nosuch", USAGE, "run `nosuch` is unknown", ""),
    ("apply RUN --dry-run", USAGE, "did not measure this machine", "seekwise tune PATH"),
    ("compare JSON BINARY", USAGE, "run `JSON` is unknown", "`seekwise import JSON`"),
    ("export LIVE --format study", USAGE, "is of no study", "--format json"),
    # words, files, places
    ("run BINARY", USAGE, "cannot read study BINARY: it is not text in UTF-8 (byte 0 is 0x80)", "seekwise run --help"),
    ("explain schedulr", USAGE, "no entry for `schedulr`", "did you mean `scheduler`?"),
    ("explain qwertyuiop", USAGE, "no entry for `qwertyuiop`", "seekwise explain"),
    ("schema resluts", USAGE, "no schema `resluts`", "did you mean `results`?"),
    ("import nosuch.json", USAGE, "cannot read nosuch.json", "name files that fio"),
    ("import BINARY", USAGE, "has no format that is known; it is not text in UTF-8 (byte 0 is 0x80)", "--format NAME"),
    ("import ESCAPES", USAGE, r"it begins: '\x1b]2;read", "--format NAME"),
    ("import EMPTY", USAGE, "is empty", "died"),
    ("whatif nosuch.swt --vary model=wd2500ys", USAGE, "nosuch.swt", ""),
    ("trace show EMPTY", USAGE, "is empty", "seekwise record DEVICE"),
    ("trace show nosuch.swt", USAGE, "there is no such file", "seekwise record DEVICE"),
    ("record DEVICE --for 0", USAGE, "must be more than 0", "seekwise record --help"),
    ("record DEVICE --for soon", USAGE, "'soon' is not a time", "seekwise record --help"),
    ("record DEVICE --for 25h", USAGE, "25 h is more than 24 h", "--for 24h"),
    ("verify rates nosuch.csv", USAGE, "nosuch.csv: there is no such file", "name files"),
    ("advise LIVE --system slow", USAGE, "takes no `--system`", "leave out --system"),
    ("tune /no/such/folder", USAGE, "/no/such/folder does not exist", "give a folder"),
    ("status foo", USAGE, "foo does not exist", "give a folder"),
    ("doctor foo", USAGE, "foo does not exist", "give a folder"),
    ("devices foo", USAGE, "foo does not exist", "give a folder"),
    ("doctor --root nosuch", USAGE, "nosuch", ""),
    ("run EMPTY.toml", USAGE, "`name` is missing", "`system`"),
    ("results 20201128-9999-abcd", USAGE, "run `20201128-9999-abcd` is unknown", "seekwise results"),
    ("tune model:exos_x18 --for nosuchthing", USAGE, "no use is called `nosuchthing`", "seekwise explain uses"),
    ("tune model:exos_x18 --for database,", USAGE, "a comma without a use", "`--for database`"),
    ("tune /tmp --threshold 60%", USAGE, "at most 40%", "seekwise tune --help"),
    ("tune /tmp --budget 99999999h", USAGE, "at most a year", "seekwise tune --help"),
    ("import --format fio-text JSON", USAGE, "is JSON", "fio-json"),
    ("import FOLDER", USAGE, "it is a folder", "FOLDER/*"),
    ("whatif nosuch", USAGE, "does not exist", "seekwise record DEVICE"),
    ("design model:exos_x18 --for database --capacity 20", USAGE, "20TB or 20t (TiB)", "seekwise design --help"),
    ("design model:exos_x18 --for database --capacity 900t", USAGE, "holds 990 TB", "1 TiB"),
    ("design model:exos_x18 --for database --capacity 900TB", USAGE, "holds 900 TB", "1 TiB"),
    ("design model:exos_x81 --for database", USAGE, "exos_x81", "did you mean `exos_x18`?"),
]  # fmt: skip
"""(what was typed, exit status, what the line says, what the hint says)."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a run, empty files, a folder and the name of a device; no test changes it."""
    folder = tmp_path_factory.mktemp("mistakes")
    for name in ("EMPTY", "EMPTY.toml"):
        (folder / name).write_text("")
    (folder / "FOLDER").mkdir()
    (folder / "JSON").write_text((FOREIGN / "fio-none.1.json").read_text())
    (folder / "ESCAPES").write_text("\x1b]2;read: 5 MB/s\x07\n")
    (folder / "BINARY").write_bytes(bytes(range(128, 256)) * 4)
    return folder


def typed(words: list[str], monkeypatch, capsys) -> tuple[int, list[str], str]:
    """(exit status, lines on standard error, standard output) of the program itself, in this process."""
    monkeypatch.setattr(sys, "argv", ["seekwise", *words])
    with pytest.raises(SystemExit) as ended:
        program.main()
    said = capsys.readouterr()
    return int(ended.value.code or 0), [line for line in said.err.splitlines() if line.strip()], said.out


@pytest.fixture
def run_id(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    monkeypatch.setenv("SEEKWISE_DB", str(place / "records.db"))
    monkeypatch.setenv("SEEKWISE_STATE", str(place / "state"))
    known = place / "run"
    if not known.exists():
        files = [str(FOREIGN / f"fio-{name}.{number}.json") for name in ("none", "bfq") for number in (1, 2)]
        status, _, out = typed(["import", *files], monkeypatch, capsys)
        assert status == 0
        known.write_text(out.split()[4])
        with Store.open(place / "records.db") as store:
            found = live_outcome(3)
            store.add_run(replace(found.run, run_id="a-run-of-tune"))
            for record in found.records:
                store.add(replace(record, run_id="a-run-of-tune"))
    return known.read_text()


def device() -> str:
    found = sorted(name for name in os.listdir("/sys/block") if not name.startswith(("loop", "ram", "zram", "nbd")))
    return found[0] if found else pytest.skip("no block device here")


@pytest.mark.parametrize(
    ("line", "status", "says", "hint"), MISTAKES, ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_mistake_ends_with_one_line_and_the_next_step(line, status, says, hint, run_id, monkeypatch, capsys):
    words = [{"RUN": run_id, "LIVE": "a-run-of-tune"}.get(word, word) for word in line.split()]
    words = [device() if word == "DEVICE" else word for word in words]
    ended, said, out = typed(words, monkeypatch, capsys)
    errors = [each for each in said if each.startswith("error: ")]
    hints = [each for each in said if each.startswith("hint: ")]
    assert (ended, len(errors), out) == (status, 1, ""), said
    assert len(hints) <= 1 and [*errors, *hints] == said, "nothing else is said"
    assert says.lower() in errors[0].lower()
    assert hint in " ".join(hints) and (hints or not hint)
    assert len(errors[0]) <= 320 and "Traceback" not in " ".join(said)


def test_there_are_sixty():
    assert len({line for line, *_ in MISTAKES}) == len(MISTAKES) >= 60


@pytest.mark.parametrize(
    ("name", "hint"), [("a/x.swt", "run it with sudo, or name a file of yours"), ("/var/lib/j", "SEEKWISE_STATE")]
)
def test_a_file_that_was_typed_and_may_not_be_read_is_no_place_of_ours(name, hint, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["seekwise", "whatif", "a/x.swt", "--vary", "model=exos_x18"])
    assert program._system_error(PermissionError(13, "Permission denied", name)) == MISSING
    said = capsys.readouterr().err
    assert name in said and hint in said
