"""A command of the user's, run again and again, each time under the next setting: one run is one observation.

    first run (not counted) ─► [ prepare ─► written back ─► cold ─► switch ─► RUN ─► conclude ] × settings, in random order ─► next round

It is judged by its time, or by a number that it prints. Preparation, dropping caches and switching are not timed. What
the runs before have left unwritten is written back first, so that no setting pays for another.
"""

from __future__ import annotations

import math
import os
import re
import shlex
import signal
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from seekwise.control import child
from seekwise.errors import SeekwiseError, UsageError
from seekwise.judge.decision.records import decided
from seekwise.linux import page_cache
from seekwise.measure.live import record, stretch
from seekwise.measure.live.open_run import SwitchedRun
from seekwise.store.record import CpuSeconds, Phase, Record
from seekwise.workload.live_plan import Candidate
from seekwise.workload.study.quantity import bytes_text, time_text
from seekwise.workload.study.rounds import Order
from seekwise.workload.study.uses import NOT_OURS, Job, Judged, Use

LESS = "less:"
"""Prefix of a --metric of which less is better."""
ROUNDS_LEAST = 3
"""Fewer say nothing of how much the command's own time varies."""
TOLD_EVERY_S = 1.0
STANDING_EVERY_S = 4.0
LINES_SHOWN = 10
LINE_LONGEST = 300
OUTPUT_KEPT_BYTES = 16 << 20
OUTPUT_MOST_BYTES = 256 << 20
COLD_FILES_MOST = 100_000
GRACE_S = 1.0
"""Beyond the end of the budget, for a run that is as good as through."""
TITLE_LONGEST = 60


@dataclass(frozen=True)
class Command:
    """`prepare` and `conclude` are lines for the shell, before and after each run. `cold`: the folder whose files are
    dropped from memory."""

    words: tuple[str, ...]
    metric: str | None = None
    prepare: str | None = None
    conclude: str | None = None
    cold: Path | None = None

    @property
    def shown(self) -> str:
        """As typed, cut to 60 characters."""
        text = shlex.join(self.words)
        return text if len(text) <= TITLE_LONGEST else f"{text[: TITLE_LONGEST - 1]}…"

    @property
    def less_is_better(self) -> bool:
        """True for the command's own time, and for a metric given as `less:…`."""
        return self.metric is None or self.metric.startswith(LESS)

    def use(self) -> Use:
        """The use of a command: its own time per run, or the number that it prints."""
        kind: Judged = "time" if self.metric is None else ("cost" if self.less_is_better else "number")
        job = Job(name="command", role="foreground", pattern="random read/write", judge=(kind,))
        return Use(name="command", title=self.shown, group=NOT_OURS, unit="run", job=[job])


class CommandFailed(SeekwiseError):
    """A program of the user's failed. `last_lines`: the end of what it printed."""

    def __init__(self, message: str, last_lines: list[str]) -> None:
        super().__init__(message, hint="run it alone first: it must succeed")
        self.last_lines = last_lines


@dataclass(kw_only=True)
class CommandRuns(SwitchedRun):
    """The runs of one command while they are made."""

    command: Command
    evicted: page_cache.Evicted | None = None
    switched_s: float = 0.0

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """Of the number that the command prints; None where its time is judged."""
        return pattern_of(self.command.metric)


def measure(runs: CommandRuns) -> None:
    """Runs the command until the deadline. What it did and could not do goes into the plan's notes."""
    said = _rounds(runs)
    notes = (*runs.plan.notes, *about_cold(runs.command, runs.evicted), *said)
    runs.change_plan(replace(runs.plan, notes=notes))


def _rounds(runs: CommandRuns) -> list[str]:
    """Sentences that belong to the answer."""
    turns = Order(runs.plan.seed)
    by_label = {candidate.label: candidate for candidate in runs.plan.candidates}
    longest = _first(runs)
    turn, shown_s = 0, 0.0
    while turn == 0 or runs.left_s >= longest * len(by_label):
        for label in turns.round(list(by_label)):
            begin = time.monotonic()
            if not _one(runs, by_label[label], turn):
                return ["The last run did not end within the budget: it was ended and is left out"]
            longest = max(longest, time.monotonic() - begin)
        turn += 1
        if time.monotonic() - shown_s >= STANDING_EVERY_S:
            shown_s = time.monotonic()
            runs.watch.standing(list(decided(runs.records, runs.plan).judged))
    return []


def _first(runs: CommandRuns) -> float:
    """Seconds of a run under the setting in force, which does not count; UsageError when the budget has no room for
    enough of them."""
    settings = len(runs.plan.candidates)
    whole = runs.left_s
    told = False

    def tell(elapsed: float) -> None:
        nonlocal told
        runs.watch.measuring(runs.command.shown, f"{runs.plan.in_force.label}, first run", max(0.0, runs.left_s))
        if not told and _needed_s(elapsed, settings) > whole:
            told = True
            runs.watch.say(
                f"The first run has taken {time_text(elapsed)} so far: {ROUNDS_LEAST} runs under each of {settings} settings no longer fit. "
                f"They need at least {_budget_text(elapsed, settings)}."
            )

    begin = time.monotonic()
    elapsed, _ = _run(runs, runs.plan.in_force, "the first run", tell)
    took = time.monotonic() - begin
    least = took if elapsed is not None else whole
    if elapsed is None or _needed_s(took, settings) > whole:
        longer = "" if elapsed is not None else "more than "
        raise UsageError(
            f"one run of `{runs.command.shown}` takes {longer}{time_text(least)}, and {settings} settings need {ROUNDS_LEAST} runs each",
            hint=f"{_budget_text(least, settings)}{' at the least' if longer else ''}, a shorter command, or fewer settings: --vary scheduler=A,B",
        )
    return took


def _needed_s(run_s: float, settings: int) -> float:
    return (ROUNDS_LEAST * settings + 1) * run_s


def _budget_text(run_s: float, settings: int) -> str:
    minutes = (1.1 * _needed_s(run_s, settings) + 5) / 60
    return f"--budget {minutes:.0f}m" if minutes >= 10 else f"--budget {60 * minutes:.0f}s"


def _one(runs: CommandRuns, candidate: Candidate, turn: int) -> bool:
    """One run that counts; False when time was up before it ended."""

    def tell(_: float) -> None:
        runs.watch.measuring(runs.command.shown, f"{candidate.label}, {where}", max(0.0, runs.left_s))

    began, where = time.time(), f"run {len(runs.records) + 1}"
    elapsed, text = _run(runs, candidate, where, tell)
    if elapsed is None:
        return False
    # Where the storage has failed, the run that just ended is left out.
    runs.storage.check()
    value = elapsed if runs.pattern is None else number_of(runs.pattern, text)
    runs.keep(_record(runs, candidate, turn, began, elapsed, value))
    return True


def _run(
    runs: CommandRuns, candidate: Candidate, where: str, tell: Callable[[float], None]
) -> tuple[float | None, str]:
    """(seconds, output); seconds None when the budget ended first."""
    command, end_s = runs.command, runs.deadline_s + GRACE_S
    tell(0.0)
    try:
        if command.prepare is not None and not _shell(command.prepare, "--prepare", candidate, where, end_s, tell):
            return None, ""
        page_cache.write_back(Path(runs.plan.target))
        if command.cold is not None:
            runs.evicted = _cold(command.cold)
        runs.switched_s = stretch.switch_to(runs.switch, candidate)
        status, elapsed, text = _timed(command.words, end_s, tell)
    finally:
        if command.conclude is not None:
            _shell(command.conclude, "--conclude", candidate, where, math.inf, lambda _: None)
    if status is None:
        return None, text
    if status != 0:
        raise failed(f"`{command.shown}`", status, text, candidate.label, where)
    return elapsed, text


def _timed(words: tuple[str, ...], deadline_s: float, tell: Callable[[float], None]) -> tuple[int | None, float, str]:
    """(exit status or None, seconds, output). Output goes to memory: it causes no I/O on the drive that is measured."""
    output = os.memfd_create("seekwise-output", os.MFD_CLOEXEC)
    try:
        with child.started(words, stdout=output, stderr=output) as running:
            running.wait_until_started()
            begin = time.monotonic()
            while (status := running.wait(min(TOLD_EVERY_S, max(0.01, deadline_s - time.monotonic())))) is None:
                tell(time.monotonic() - begin)
                _bounded(output)
                if time.monotonic() >= deadline_s:
                    running.terminate()
                    running.wait()
                    break
            elapsed = time.monotonic() - begin
        return status, elapsed, _text(output)
    finally:
        os.close(output)


def _bounded(output: int) -> None:
    """Forgets what a program has written that writes without end; it goes on at its place in the file."""
    if os.fstat(output).st_blocks * 512 > OUTPUT_MOST_BYTES:
        os.ftruncate(output, 0)


def _text(descriptor: int) -> str:
    """The end of what was written, all of it unless it is huge."""
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, OUTPUT_KEPT_BYTES, max(0, size - OUTPUT_KEPT_BYTES)).decode(errors="replace")


def _shell(
    line: str, option: str, candidate: Candidate, where: str, end_s: float, tell: Callable[[float], None]
) -> bool:
    """False when the budget ended before it did."""
    status, _, text = _timed(("sh", "-c", line), end_s, tell)
    if status:
        raise failed(f"{option} `{line}`", status, text, candidate.label, where)
    return status is not None


def failed(what: str, status: int, text: str, setting: str, where: str) -> CommandFailed:
    """The error of a program that failed, with the last lines of its output."""
    how = f"was ended by signal {-status}" if status < 0 else f"failed with exit status {status}"
    lines = [line[:LINE_LONGEST] for line in text.rstrip().splitlines()[-LINES_SHOWN:]]
    silent = "" if lines else " and printed nothing"
    return CommandFailed(f"{what} {how}{silent} ({where}, {setting} in force)", lines)


def _cold(folder: Path) -> page_cache.Evicted:
    files = list(page_cache.files_below(folder, COLD_FILES_MOST + 1))
    if len(files) > COLD_FILES_MOST:
        raise UsageError(
            f"--cold: {folder} holds more than {COLD_FILES_MOST:,} files, too many to drop before each run",
            hint="name the folder that the command works in as PATH",
        )
    return page_cache.evict(files)


def about_cold(command: Command, evicted: page_cache.Evicted | None) -> list[str]:
    """What --cold did and could not do."""
    if evicted is None:
        return []
    dropped = f"the last time {evicted.files:,} files with {bytes_text(evicted.bytes)}"
    warm = "Files elsewhere, names and inodes, and memory of servers that keep running stay warm"
    said = [f"Cold: before each run the files below {command.cold} were dropped from memory ({dropped}). {warm}"]
    if evicted.kept:
        path, most = max(evicted.kept.items(), key=lambda pair: pair[1])
        said.append(
            f"Not cold: {bytes_text(evicted.kept_bytes)} in {len(evicted.kept)} files stayed in memory, most of them in {path} "
            f"({bytes_text(most)}): a running program has them mapped, or writes them"
        )
    return said


def pattern_of(metric: str | None) -> re.Pattern[str] | None:
    """The regular expression of --metric; UsageError when it is none or has no group."""
    if metric is None:
        return None
    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            pattern = re.compile(metric.removeprefix(LESS))
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        raise UsageError(f"--metric is no regular expression: {str(error)[:200]}") from None
    if pattern.groups < 1:
        raise UsageError(
            "--metric needs a group around the number",
            hint=r"for example --metric 'tps = ([0-9.]+)'; `less:` before it if less is better",
        )
    return pattern


SEARCH_S = 5.0
"""More than any pattern takes that does not try every way to share a text between nested repeats."""


def _searched(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """`pattern.search`, within its time where a timer can be set."""
    if threading.current_thread() is not threading.main_thread():
        return pattern.search(text)

    def late(*_: object) -> None:
        raise UsageError(
            f"--metric {pattern.pattern!r} takes more than {SEARCH_S:.0f} s to look through the command's output",
            hint="repeats within repeats, as in (a+)+, do that; write it with one repeat",
        )

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, SEARCH_S)
    try:
        return pattern.search(text)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def number_of(pattern: re.Pattern[str], text: str) -> float:
    """The number that the pattern's first group finds in a command's output. SeekwiseError where there is none above
    0."""
    match = _searched(pattern, text)
    try:
        value = float(match[1]) if match else 0.0
    except (ValueError, TypeError):
        value = 0.0
    if not 0 < value < math.inf:
        raise SeekwiseError(
            f"the command's output has no number above 0 for {pattern.pattern!r}",
            hint=f"it ended with: {text[-120:].strip()!r}",
        )
    return value


def _record(runs: CommandRuns, candidate: Candidate, turn: int, began: float, elapsed: float, value: float) -> Record:
    # One run is one operation: its time is the latency. A number that it prints takes that place, in the unit in which
    # times are shown.
    mean_ns = value * (1e9 if runs.pattern is None else 1e6)
    phase = Phase(
        operation="mixed",
        elapsed_s=elapsed,
        bytes=0,
        ios=1,
        latency_bins={},
        latency_mean_ns=mean_ns,
        latency_max_ns=round(mean_ns),
        cpu=CpuSeconds(0.0, 0.0),
        details={"job": "command", "role": "foreground", "value": value},
    )
    evicted = runs.evicted
    cold: dict[str, object] = (
        {} if evicted is None else {"evicted_bytes": evicted.bytes, "kept_bytes": evicted.kept_bytes}
    )
    return record.new_record(
        runs,
        turn,
        "command",
        candidate,
        (phase,),
        record.When(began, time.time() - began, switch_s=runs.switched_s),
        conditions=cold,
        load={"what": "a command of the user's"},
    )
