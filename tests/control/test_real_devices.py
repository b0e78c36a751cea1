"""These tests will switch the schedulers of real loop devices and of the system's own disk, kill the run in every way, and
compare every setting before and after."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seekwise.control import attributes, recovery
from seekwise.control.journal import Journal
from seekwise.control.lock import devices_locked
from seekwise.control.settings import changed, read_settings
from seekwise.errors import RefusedError, SeekwiseError

from .conftest import needs_root

pytestmark = [pytest.mark.root, needs_root]

# Runs as a program of its own so that it can be killed: switches through all schedulers until it is told to stop.
RESTLESS = """
import itertools, sys
from seekwise.control import attributes, sysfs
from seekwise.control.settings import changed
device = sys.argv[1]
offered = attributes.schedulers_offered(sysfs.device_folder(device))
print("started", flush=True)
for turn, scheduler in enumerate(itertools.cycle(offered)):
    wanted = {"scheduler": scheduler, "nr_requests": 16 + turn % 50, "read_ahead_kb": 4 * (turn % 90), "nomerges": turn % 3}
    with changed({device: wanted}):
        pass
"""

STEADY = """
import signal, sys
from seekwise.control.settings import changed
with changed({sys.argv[1]: {"scheduler": sys.argv[2], "read_ahead_kb": 64, "wbt_lat_usec": 1234}}):
    print("inside", flush=True)
    signal.pause()
"""


LOADED = """
import sys
from seekwise.control import child
from seekwise.control.settings import changed
with changed({sys.argv[1]: {"scheduler": sys.argv[2], "read_ahead_kb": 64}}), child.started(["sleep", "1000"]) as load:
    print("inside", flush=True)
    load.wait()
"""


def start(program: str, *arguments: str, state: Path) -> subprocess.Popen:
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "SEEKWISE_STATE": str(state)},
    )
    assert process.stdout.readline() in ("started\n", "inside\n"), process.stderr.read()
    return process


def other_than_set(device: str) -> str:
    folder = Path("/sys/block") / device
    offered = attributes.schedulers_offered(folder)
    if len(offered) < 2:
        pytest.skip(f"{device} offers only {offered}")
    return next(name for name in offered if name != attributes.current("queue/scheduler", folder))


def test_every_offered_scheduler_can_be_set_and_everything_is_back(loop, journal):
    before = read_settings(loop)
    for scheduler in attributes.schedulers_offered(Path("/sys/block") / loop):
        with changed(
            {loop: {"scheduler": scheduler, "nr_requests": 33, "read_ahead_kb": 256}}, journal=journal
        ) as seen:
            assert f"[{scheduler}]" in Path(f"/sys/block/{loop}/queue/scheduler").read_text()
            assert seen[loop]["queue/nr_requests"] == "33"
        assert read_settings(loop) == before


def test_set_tunables_survive_a_switch_of_scheduler(loop, journal):
    if "mq-deadline" not in attributes.schedulers_offered(Path("/sys/block") / loop):
        pytest.skip("mq-deadline is not offered")
    own = {
        "scheduler": "mq-deadline",
        "nr_requests": 77,
        "iosched/fifo_batch": 3,
        "iosched/read_expire": 100,
        "iosched/async_depth": 11,
    }
    with changed({loop: own}, journal=journal) as inside:
        for scheduler in attributes.schedulers_offered(Path("/sys/block") / loop):
            with changed({loop: {"scheduler": scheduler}}, journal=journal):
                pass
            assert read_settings(loop) == inside[loop]


def test_what_the_kernel_rounds_or_refuses_is_an_error_and_nothing_stays(loop, journal):
    before = read_settings(loop)
    for name, value in (("nr_requests", 10**6), ("nr_requests", 1), ("nomerges", "x"), ("read_ahead_kb", 1001)):
        with (
            pytest.raises(SeekwiseError, match=f"{loop}.*{name}.*{value}"),
            changed({loop: {"scheduler": other_than_set(loop), name: value}}, journal=journal),
        ):
            pytest.fail("must not be entered")
        assert read_settings(loop) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signalled_run_restores_by_itself(loop, tmp_path, number):
    before = read_settings(loop)
    process = start(STEADY, loop, other_than_set(loop), state=tmp_path)
    assert read_settings(loop) != before
    process.send_signal(number)
    process.communicate(timeout=60)
    assert read_settings(loop) == before
    assert Journal(tmp_path).is_empty()


def test_a_closed_terminal_restores(loop, tmp_path):
    """The run is the leader of a session on a terminal of its own; the terminal goes away."""
    before = read_settings(loop)
    master, terminal = os.openpty()
    child = os.fork()
    if child == 0:
        os.login_tty(terminal)
        os.close(master)
        os.environ["SEEKWISE_STATE"] = str(tmp_path)
        os.execv(sys.executable, [sys.executable, "-c", STEADY, loop, other_than_set(loop)])
    os.close(terminal)
    assert b"inside" in os.read(master, 100)
    assert read_settings(loop) != before
    os.close(master)
    os.waitpid(child, 0)
    assert read_settings(loop) == before


def test_after_sigkill_at_random_moments_revert_puts_everything_back(loop, tmp_path):
    before = read_settings(loop)
    generator = random.Random(8127)
    left_changed = 0
    for _ in range(12):
        process = start(RESTLESS, loop, state=tmp_path)
        time.sleep(generator.uniform(0, 0.25))
        process.kill()
        process.communicate(timeout=60)
        left_changed += read_settings(loop) != before
        done = subprocess.run(
            [sys.executable, "-m", "seekwise.cli.main", "revert"],
            capture_output=True,
            text=True,
            env={**os.environ, "SEEKWISE_STATE": str(tmp_path)},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert read_settings(loop) == before
    assert left_changed > 0, "no kill met a changed device: the test proves nothing"


def test_with_a_load_running_a_killed_run_is_put_back_without_any_further_command(loop, tmp_path):
    before = read_settings(loop)
    process = start(LOADED, loop, other_than_set(loop), state=tmp_path)
    assert read_settings(loop) != before
    process.kill()
    process.communicate(timeout=60)
    for _ in range(1000):
        if Journal(tmp_path).is_empty():
            break
        time.sleep(0.01)
    assert read_settings(loop) == before
    assert Journal(tmp_path).is_empty()


def test_signals_at_random_moments_leave_nothing(loop, tmp_path):
    before = read_settings(loop)
    generator = random.Random(31)
    for turn in range(12):
        process = start(RESTLESS, loop, state=tmp_path)
        time.sleep(generator.uniform(0, 0.2))
        process.send_signal((signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[turn % 3])
        process.communicate(timeout=60)
        assert read_settings(loop) == before
        assert Journal(tmp_path).is_empty()


def test_two_runs_at_once_are_refused_and_the_lock_dies_with_its_holder(loop, tmp_path, journal):
    before = read_settings(loop)
    process = start(STEADY, loop, other_than_set(loop), state=tmp_path)
    with (
        pytest.raises(RefusedError, match=f"{loop} is in use by another seekwise run .process {process.pid}."),
        changed({loop: {"read_ahead_kb": 8}}, journal=journal),
    ):
        pytest.fail("must not be entered")
    process.kill()
    process.communicate(timeout=60)
    with changed({loop: {"read_ahead_kb": 8}}, journal=journal):
        pass
    assert [outcome.state for outcome in recovery.restore_left_behind(Journal(tmp_path))] == ["restored"]
    assert read_settings(loop) == before


def test_the_system_disk_is_switched_and_is_as_found(journal):
    """The disk below this folder: its scheduler is set to what it is not, then everything is back."""
    number = os.stat(Path(__file__).parent).st_dev
    link = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not link.exists():
        pytest.skip("this folder is not on a block device")
    folder = link.resolve()
    if (folder / "partition").exists():
        folder = folder.parent
    for attempt in range(120):
        try:
            with devices_locked([folder.name]):
                before = read_settings(folder.name)
                with changed({folder.name: {"scheduler": other_than_set(folder.name)}}, journal=journal) as seen:
                    assert seen[folder.name]["queue/scheduler"] != before["queue/scheduler"]
                    Path(__file__).read_bytes()
                assert read_settings(folder.name) == before
            return
        except RefusedError as error:
            # Another run on this machine, perhaps of another test: it is its turn.
            if attempt == 119:
                pytest.skip(error.message)
            time.sleep(0.5)
