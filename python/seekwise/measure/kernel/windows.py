"""Rate and access time over equal windows of a phase, from fio's logs, for the steady-state rule.

fio writes one line per job and window, `ms, value, direction, block size, …`: KiB/s in `_bw.log`, mean ns in
`_lat.log`. Jobs that ran at once are added up (rate) or averaged (access time; jobs of a phase are alike). Only phases
that are long enough for five windows of 5 s are logged: shorter ones have no steady state to show, and a log costs a
little time.
"""

from __future__ import annotations

from pathlib import Path

NAME = "windows"
WINDOW_MS = 1000
LOGGED_FROM_S = 26.0
"""Five windows of 5 s, and the last second, which fio does not log."""


def job_lines(runtime_s: float | None) -> list[str]:
    """Options that make fio log the windows of a phase, if it is long enough."""
    if runtime_s is None or runtime_s < LOGGED_FROM_S:
        return []
    return [f"write_bw_log={NAME}", f"write_lat_log={NAME}", f"log_avg_msec={WINDOW_MS}", "per_job_logs=0"]


def take(folder: Path) -> tuple[tuple[float, float], ...]:
    """(bytes/s, mean access time in ns) per window, and removes the logs; empty if there are none."""
    throughputs = _by_window(folder / f"{NAME}_bw.log")
    times = _by_window(folder / f"{NAME}_lat.log")
    for kind in ("bw", "lat", "clat", "slat", "iops"):
        (folder / f"{NAME}_{kind}.log").unlink(missing_ok=True)
    # A window that not every job reached is the end of the phase.
    jobs = max((len(values) for values in throughputs.values()), default=0)
    return tuple(
        (sum(throughputs[window]) * 1024.0, sum(times[window]) / len(times[window]))
        for window in sorted(throughputs.keys() & times.keys())
        if len(throughputs[window]) == jobs
    )


def _by_window(file: Path) -> dict[int, list[float]]:
    windows: dict[int, list[float]] = {}
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return windows
    for line in lines:
        parts = line.split(",")
        try:
            window, value = round(int(parts[0]) / WINDOW_MS), float(parts[1])
        except (ValueError, IndexError):
            continue
        windows.setdefault(window, []).append(value)
    return windows
