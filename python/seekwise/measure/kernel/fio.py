"""fio: found, checked, called, and killed with us."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from seekwise.control import child
from seekwise.errors import MissingError, SeekwiseError, reason

# fio 3.0 (2017) counts bytes in JSON and latencies in nanoseconds; runtime=700ms and json+ bins are as old.
VERSION_LEAST = (3, 0)


@dataclass(frozen=True)
class Fio:
    path: str
    version: str


def find() -> Fio:
    """fio on the PATH, with a version that we understand."""
    path = shutil.which("fio")
    if path is None:
        raise MissingError("fio is not installed", hint="sudo apt-get install fio (or dnf, pacman, zypper)")
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"{path} does not run: {error}", hint="reinstall fio") from error
    text = (done.stdout + done.stderr).strip()
    match = re.search(r"^fio-(\d+)\.(\d+)", text, re.MULTILINE)
    if match is None:
        shown = text.splitlines()[0][:80] if text else "nothing"
        raise MissingError(
            f"{path} does not say which fio it is: `fio --version` prints {shown!r}", hint="reinstall fio"
        )
    if (int(match[1]), int(match[2])) < VERSION_LEAST:
        raise MissingError(f"{path} is {match[0]}, but fio 3.0 or newer is needed", hint="install a newer fio")
    return Fio(path, match.string[match.start() :].splitlines()[0])


@dataclass(frozen=True)
class FioRun:
    output: str
    stderr: str
    status: int


def run(
    fio: Fio,
    job: str,
    folder: Path,
    *,
    timeout_s: float,
    cgroup_files: tuple[Path, ...] = (),
    extra: tuple[str, ...] = (),
) -> FioRun:
    """Runs one job text; JSON goes to a file of its own, so that nothing else can mix with it."""
    job_file, output = folder / "job.fio", folder / "fio.json"
    output.unlink(missing_ok=True)
    try:
        job_file.write_text(job)
    except OSError as error:
        raise SeekwiseError(f"cannot write {job_file}: {reason(error)}") from error
    command = [fio.path, "--output-format=json+", f"--output={output}", "--eta=never", *extra, str(job_file)]
    done = child.run(command, timeout_s=timeout_s, cwd=folder, cgroup_files=cgroup_files)
    try:
        text = output.read_text(errors="replace")
    except OSError:
        text = ""
    return FioRun(text, done.stdout + done.stderr, done.returncode)


def failed(run: FioRun, what: str) -> SeekwiseError:
    """The error for a fio that did not end well."""
    if run.status < 0:
        how = f"was killed by {signal.Signals(-run.status).name}"
    else:
        how = f"ended with status {run.status}"
    said = " ".join((run.stderr + "\n" + _text_before_json(run.output)).split())
    hint = None
    if "No space left" in said or "ENOSPC" in said:
        hint = "make room on the file system, or use a smaller `size`"
    elif "Invalid argument" in said and "direct" in said.lower() or "O_DIRECT" in said:
        hint = "this file system has no direct I/O: use `direct = false` with a `memory_limit`"
    return SeekwiseError(f"fio {how} during {what}" + (f": {said[:300]}" if said else ""), hint=hint)


def _text_before_json(text: str) -> str:
    return "" if text.startswith("{") else text.split("\n{", 1)[0]


def work_home() -> Path:
    """Where job files and fio's results are kept while it runs: never on the storage that is measured."""
    for candidate in ("/dev/shm", "/run", os.environ.get("TMPDIR", "/tmp")):
        if os.path.isdir(candidate) and os.access(candidate, os.W_OK):
            return Path(candidate)
    return Path("/tmp")
