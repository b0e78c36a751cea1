"""The memory limit of buffered loads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seekwise.control import child
from seekwise.errors import UsageError
from seekwise.measure.kernel import memory

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: makes a control group")


def test_version_2_is_preferred_and_version_1_found(tmp_path):
    assert memory.controller(tmp_path) is None
    first = tmp_path / "sys/fs/cgroup/memory"
    first.mkdir(parents=True)
    (first / "memory.limit_in_bytes").write_text("1")
    assert memory.controller(tmp_path) == (first, 1)
    (tmp_path / "sys/fs/cgroup/cgroup.controllers").write_text("cpu io memory\n")
    assert memory.controller(tmp_path) == (tmp_path / "sys/fs/cgroup", 2)


def test_a_limit_in_which_fio_cannot_live_is_refused():
    with pytest.raises(UsageError, match="too small for fio"), memory.limited(2**20):
        pass


@needs_root
def test_what_a_limited_program_caches_stays_within_the_limit(tmp_path):
    if memory.controller() is None:
        pytest.skip("this kernel offers no memory control groups")
    program = f"open({str(tmp_path / 'big')!r}, 'wb').write(b'x' * (150 << 20))"
    with memory.limited(100 << 20) as group:
        # 150 MB cannot be held: the program is killed for its own memory, or reclaims; never above the limit.
        child.run([sys.executable, "-c", program], cgroup_files=(group.processes_file,), timeout_s=60)
        assert 20 << 20 < group.peak_bytes <= 100 << 20
        folder = group.folder
    assert not folder.exists()


@needs_root
def test_groups_of_killed_runs_are_removed_and_those_of_living_ones_stay():
    found = memory.controller()
    if found is None:
        pytest.skip("this kernel offers no memory control groups")
    with subprocess.Popen([sys.executable, "-c", "pass"]) as done:
        done.wait()
        dead = found[0] / f"seekwise-{done.pid}-1"
    dead.mkdir()
    with memory.limited(64 << 20) as group:
        memory.remove_left_behind()
        assert not dead.exists()
        assert Path(group.folder).exists()
