"""`tune PATH -- COMMAND`: a command that fails, one that takes too long, what runs before and after it, a cold cache, an end by `kill -9`."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.conftest import needs_root, settings_of
from seekwise.errors import UsageError
from seekwise.linux import page_cache
from seekwise.measure.live import own


def test_pages_of_a_file_are_counted_and_dropped(tmp_path):
    file = tmp_path / "data"
    file.write_bytes(os.urandom(3 << 20))
    descriptor = os.open(file, os.O_RDONLY)
    try:
        assert page_cache.cached_bytes(descriptor) == 3 << 20
        assert page_cache._by_mincore(descriptor) == (3 << 20) // page_cache.PAGE, "both ways agree"
        found = page_cache.evict([file, tmp_path / "gone"])
        if os.statvfs(tmp_path).f_blocks and not found.kept:  # a tmpfs keeps everything
            assert (found.files, found.bytes) == (1, 3 << 20)
            assert page_cache.cached_bytes(descriptor) == 0
            assert page_cache._by_mincore(descriptor) == 0
    finally:
        os.close(descriptor)


def test_what_a_program_has_mapped_is_said_to_stay(tmp_path):
    import mmap

    file = tmp_path / "data"
    file.write_bytes(os.urandom(1 << 20))
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as view:
        assert view[:10]
        found = page_cache.evict([file])
    assert found.kept.get(file, 0) > 0
    assert any("Not cold" in line for line in own.about_cold(own.Command(("true",), cold=tmp_path), found))


def test_files_of_a_tree_are_listed_up_to_a_number_and_links_are_not_followed(tmp_path):
    (tmp_path / "a/b").mkdir(parents=True)
    for name in ("one", "a/two", "a/b/three"):
        (tmp_path / name).write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "one")
    (tmp_path / "a/loop").symlink_to(tmp_path)
    assert sorted(each.name for each in page_cache.files_below(tmp_path, 10)) == ["one", "three", "two"]
    assert len(list(page_cache.files_below(tmp_path, 2))) == 2


def test_the_error_of_a_failed_command_has_its_last_lines_and_how_it_ended():
    text = "\n".join(f"line {number}" for number in range(30))
    error = own.failed("`backup`", 3, text, "kyber", "run 7")
    assert "exit status 3" in error.message and "run 7" in error.message and "kyber" in error.message
    assert error.last_lines == [f"line {number}" for number in range(20, 30)]
    assert "signal 9" in own.failed("`backup`", -9, "", "none", "run 1").message


def test_a_budget_that_is_named_is_enough():
    from seekwise.workload.study.quantity import parse_seconds

    for run_s in (0.5, 7.0, 90.0, 4000.0):
        named = parse_seconds(own._budget_text(run_s, 4).removeprefix("--budget "))
        assert named - 2 >= own._needed_s(run_s, 4), run_s


@pytest.mark.parametrize(
    "words",
    [
        ("--cold",),
        ("--prepare", "true"),
        ("--conclude", "true", "--live"),
        ("--metric", "x ([0-9]+)", "--live"),
        ("--guard", "3x", "--", "true"),
    ],
)
def test_options_that_would_do_nothing_are_refused(tmp_path, words):
    from click.testing import CliRunner

    from seekwise.cli.main import cli

    done = CliRunner().invoke(cli, ["tune", str(tmp_path), *words])
    assert isinstance(done.exception, UsageError) or done.exit_code == UsageError.exit_status


needs_storage = [needs_root, pytest.mark.slow]


@pytest.mark.usefixtures("storage")
class TestOnStorage:
    pytestmark = needs_storage

    def test_preparation_and_conclusion_run_once_for_each_run(self, seekwise, storage, tmp_path):
        before = settings_of(storage.name)
        done = seekwise(
            "tune", str(storage.folder), "--budget", "20s", "--json", "--vary", "scheduler=none,kyber", "--cold",
            "--prepare", f"echo p >> {tmp_path}/log; head -c 4194304 /dev/urandom > {storage.folder}/data",
            "--conclude", f"echo c >> {tmp_path}/log; rm {storage.folder}/data",
            "--", "sh", "-c", f"echo r >> {tmp_path}/log; cat {storage.folder}/data",
        )  # fmt: skip
        document = json.loads(done.stdout)
        assert settings_of(storage.name) == before
        log = (tmp_path / "log").read_text().split()
        assert log[:3] == ["p", "r", "c"] and log == ["p", "r", "c"] * (len(log) // 3)
        assert len(log) // 3 >= 7, "a first run and three for each setting"
        assert any("dropped from memory" in note and "4 MiB" in note for note in document["notes"]), document["notes"]
        assert {each["setting"] for each in document["uses"][0]["candidates"]} == {"none", "kyber"}

    def test_a_failing_command_is_shown_with_its_last_words(self, seekwise, storage):
        before = settings_of(storage.name)
        done = seekwise(
            "tune", str(storage.folder), "--budget", "20s", "--", "sh", "-c", "echo first; echo the disk is full >&2; exit 7",
            status=1,
        )  # fmt: skip
        assert "exit status 7" in done.stderr and "| the disk is full" in done.stderr
        assert settings_of(storage.name) == before

    def test_a_command_longer_than_the_budget_is_told_early_with_what_it_needs(self, seekwise, storage):
        began = time.monotonic()
        done = seekwise("tune", str(storage.folder), "--budget", "60s", "--", "sleep", "6", status=2)
        assert time.monotonic() - began < 40, "told when the first run ends, not at the end of the budget"
        assert "so far" in done.stderr and "--budget" in done.stderr and "takes 6" in done.stderr

    def test_kill_9_leaves_the_setting_no_program_and_every_run_so_far(self, seekwise, storage, tmp_path):
        before = settings_of(storage.name)
        mark, log = f"{tmp_path.name}-{os.getpid()}", tmp_path / "log"
        process = seekwise.start(
            "tune", str(storage.folder), "--budget", "60s", "--", "sh", "-c", f"echo run >> {log}; sleep 0.2; : {mark}"
        )
        # A busy machine may need long before the first run: four records are five runs and one that goes on.
        assert _is_soon(lambda: log.exists() and len(log.read_text().splitlines()) >= 6, 60)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        assert _is_soon(lambda: settings_of(storage.name) == before, 60)
        assert _is_soon(
            lambda: not [each for each in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in _read(each)], 60
        )
        document = json.loads(seekwise("results", "last", "--json").stdout)
        assert len(document.get("records", [])) >= 4 or document["uses"]


def _is_soon(holds: Callable[[], bool], within_s: float) -> bool:
    end = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_number_that_a_command_prints_has_no_unit_of_ours():
    (number,) = own.Command(("true",), r"tps = ([0-9.]+)").use().metrics
    (cost,) = own.Command(("true",), r"less:p99 ([0-9.]+)").use().metrics
    (seconds,) = own.Command(("true",)).use().metrics
    assert (number.unit, number.more_is_better) == ("", True)
    assert (cost.unit, cost.more_is_better) == ("", False)
    assert (seconds.unit, seconds.more_is_better, seconds.name) == ("ms", False, "time")


def test_a_program_that_writes_without_end_does_not_fill_the_memory():
    status, _, text = own._timed(
        ("sh", "-c", "yes | head -c 700000000; sleep 1.2; echo the end"), time.monotonic() + 200, lambda _: None
    )
    assert status == 0
    assert text.endswith("the end\n") and len(text) <= own.OUTPUT_KEPT_BYTES
