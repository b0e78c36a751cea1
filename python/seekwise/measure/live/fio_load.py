"""fio as a load: one that keeps running while settings are switched under it, until a signal ends it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from seekwise.control import child
from seekwise.errors import SeekwiseError
from seekwise.linux import diskstats
from seekwise.measure.kernel import fio
from seekwise.measure.live import logs
from seekwise.measure.live.logs import Operations

START_TIMEOUT_S = 20.0
POLL_S = 0.02
LEAD_IN_S = 0.4
"""After the first I/O is seen: threads start one after the other."""
END_TIMEOUT_S = 60.0
FIO_ENDED_BY_SIGNAL = (0, 128)
"""fio ends with 128 when a signal told it to."""


@dataclass(frozen=True)
class FioLoad:
    """A job text, and which log belongs to which job of the use."""

    text: str
    logs: dict[str, tuple[str, ...]]
    """{job: prefixes of the log files of its processes}."""
    buffered: bool
    program: fio.Fio | None = None
    """What runs it here; None where it is for another machine."""

    @contextlib.contextmanager
    def started(self, work: Path, leaves: tuple[str, ...], cgroup_files: Sequence[Path]) -> Iterator[RunningFio]:
        """Removes old logs in `work`, then starts fio there, in the given control groups. Raises MissingError (exit
        status 4) without fio."""
        program = self.program or fio.find()
        for old in work.glob("*.log"):
            old.unlink()
        job_file, output, errors = work / "job.fio", work / "fio.txt", work / "fio.err"
        job_file.write_text(self.text)
        command = [program.path, "--eta=never", "--output-format=terse", f"--output={output}", str(job_file)]
        with (
            errors.open("wb") as said,
            child.started(command, stdout=said, stderr=said, cwd=work, cgroup_files=cgroup_files) as running,
        ):
            yield RunningFio(running, leaves, output, errors)

    def operations(self, work: Path) -> dict[str, Operations]:
        """{job: its operations}, read from the log files in `work` once fio has ended."""
        files = {path.name: path.read_bytes() for path in work.glob("*_lat.*.log")}
        return {job: logs.read(files, prefixes) for job, prefixes in self.logs.items()}


class RunningFio:
    def __init__(self, running: child.ChildProgram, leaves: tuple[str, ...], output: Path, errors: Path) -> None:
        self._running = running
        self._leaves = leaves
        self._output = output
        self._errors = errors

    def wait_running(self) -> None:
        """Returns when the devices moved something since, and the last thread has had time to start."""
        before = diskstats.total(diskstats.moved({}, diskstats.read(), self._leaves)).ios
        end = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < end:
            status = self._running.wait(POLL_S)
            if status is not None:
                said = self._errors.read_text(errors="replace")
                raise SeekwiseError(f"fio ended with status {status}: {' '.join(said.split())[:300]}", hint(said))
            if diskstats.total(diskstats.moved({}, diskstats.read(), self._leaves)).ios > before + 20:
                break
        else:
            raise SeekwiseError(f"the load did not start within {START_TIMEOUT_S:g} s", hint="is the device stuck?")
        self._running.wait(LEAD_IN_S)

    def period(self, seconds: float, patience_s: float) -> float:
        """Returns early when fio ends; 0.0, since requests flow all the time and there is no lead."""
        self._running.wait(seconds)
        return 0.0

    def ended(self) -> str | None:
        """fio's own message or its exit status; None while it runs."""
        status = self._running.poll()
        return None if status is None else self._said() or f"fio ended with status {status}"

    def finish(self) -> str | None:
        """Sends the signal and waits a minute for the logs; then kills fio and raises SeekwiseError (exit status 1).
        None: it ended in order."""
        self._running.terminate(patient=True)
        status = self._running.wait(END_TIMEOUT_S)
        if status is None:
            self._running.kill()
            raise SeekwiseError("fio did not end within a minute after it was told to", hint="is the device stuck?")
        return None if status in FIO_ENDED_BY_SIGNAL else self._said() or f"fio ended with status {status}"

    def _said(self) -> str | None:
        text = self._errors.read_text(errors="replace") if self._errors.exists() else ""
        words = [line for line in text.splitlines() if line.startswith("fio:") and "terminating on signal" not in line]
        return " ".join(" ".join(words).split())[:300] or None


def hint(said: str | None) -> str | None:
    """What to do about what fio said."""
    if said and ("No space left" in said or "ENOSPC" in said):
        return "make room on the file system"
    if said and "Invalid argument" in said:
        return "this file system has no direct I/O: choose a folder on another one, or an empty device"
    return None
