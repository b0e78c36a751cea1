"""Windows of a phase from fio's logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from seekwise.measure.kernel import fio_job, windows
from seekwise.workload.study.plan import Load, PlannedPhase


def test_windows_add_the_jobs_that_ran_at_once(tmp_path: Path) -> None:
    # Written by fio 3.33 with two jobs; the second job did not reach the third window.
    (tmp_path / "windows_bw.log").write_text(
        "1002, 100, 0, 0, 0\n2001, 120, 0, 0, 0\n2999, 90, 0, 0, 0\n1001, 50, 0, 0, 0\n2003, 60, 0, 0, 0\n"
    )
    (tmp_path / "windows_lat.log").write_text(
        "1002, 3000, 0, 0, 0\n2001, 2000, 0, 0, 0\n1001, 5000, 0, 0, 0\n2003, 4000, 0, 0, 0\n"
    )
    (tmp_path / "windows_clat.log").write_text("")
    assert windows.take(tmp_path) == ((150 * 1024.0, 4000.0), (180 * 1024.0, 3000.0))
    assert list(tmp_path.iterdir()) == []


def test_no_logs_or_garbage_are_no_windows(tmp_path: Path) -> None:
    assert windows.take(tmp_path) == ()
    (tmp_path / "windows_bw.log").write_text("fio: something\n1000\n\n")
    assert windows.take(tmp_path) == ()


@pytest.mark.parametrize(("runtime_s", "logged"), [(1.0, False), (25.0, False), (30.0, True), (None, False)])
def test_only_phases_long_enough_are_logged(runtime_s: float | None, logged: bool) -> None:
    text = fio_job.phase(
        Load("x"), PlannedPhase("rand_read", runtime_s), fio_job.FioTarget(Path("/x"), region_bytes=2**20), seed=1
    )
    assert ("write_bw_log=windows" in text) == logged
