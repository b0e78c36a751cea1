"""The JSON documents that one file of fio holds, each as a run of its own.

`--status-interval` prints the same run again and again: the last document is the run, those before it are its
beginnings. Runs appended with `>>` are runs of their own. `--client` has `client_stats` in place of `jobs`, and a last
entry that is the sum. Words before, between and behind documents (warnings, prompts, the normal output) are skipped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from seekwise.bounds import JSON_VALUES
from seekwise.importing.fio_result import FioJob, FioOutputError, sample
from seekwise.importing.result import Given

SUM_OF_CLIENTS = "All clients"
ALIASES = {"readwrite": "rw", "blocksize": "bs", "blocksize_range": "bsrange", "blocksize_split": "bssplit"}
"""fio's HOWTO: other names of options, which `job options` and `global options` keep as they were typed."""
SIDES = ("read", "write", "trim", "mixed")
SYNC_ENGINES = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap"})
NO_LATENCIES = "there are no latencies: fio did not time requests (`gtod_reduce`, or `disable_lat` and `disable_clat`), or the lines that have them are not here"


@dataclass(frozen=True)
class FioDocument:
    """One document. Each job has its options with those of `[global]` under them, and the host that ran it
    (`--client`)."""

    version: str
    jobs: list[FioJob]
    shared: dict[str, str]
    """Options of `[global]`."""
    ended_s: float | None
    """When the document was printed, in seconds since 1970."""
    sum_of_clients: FioJob | None = None
    """fio's own sum over clients: it merges their percentiles, which nobody else can."""
    beginnings: int = 0
    """Documents of the same run that came before it."""
    name: str = ""
    """What a document around several calls it."""

    @property
    def runtime_s(self) -> float:
        """Over all groups, one after the other."""
        longest: dict[object, float] = {}
        for job in self.jobs:
            for side in _sides(job):
                group = str(job.get("groupid", 0))
                longest[group] = max(longest.get(group, 0.0), float(side.get("runtime", 0)) / 1e3)
        return sum(longest.values())


def runs(text: str, source: str) -> tuple[list[FioDocument], list[str]]:
    """(the runs in the order of the file, what a reader must know of them). FioOutputError where there is none."""
    found: list[FioDocument] = []
    notes: list[str] = []
    try:
        for name, document in _documents(text, source):
            run = replace(_run(document, source), name=name)
            if found and found[-1].name == name and _continues(found[-1], run):
                found[-1] = replace(run, beginnings=found[-1].beginnings + 1)
            else:
                found.append(run)
    except FioOutputError as error:
        if not found:
            raise
        notes.append(f"left out of {source}: {error.message.removeprefix(source).strip()}")
    # Keys that name loads, `read` and `write`, tell no set-ups apart.
    if len({str(_names(run)) for run in found}) == len({(run.name, str(_names(run))) for run in found}):
        found = [replace(run, name="") for run in found]
    if many := sum(run.beginnings for run in found):
        notes.append(
            f"{source}: {many} earlier documents of the same run left out (`--status-interval`): the last one holds the run"
        )
    if len(found) > 1:
        notes.append(f"{source} holds {len(found)} runs, each counted on its own")
    return found, notes


def _documents(text: str, source: str) -> Iterator[tuple[str, FioJob]]:
    values = text.count(",") + text.count("{") + text.count("[")
    if values > JSON_VALUES:
        raise FioOutputError(
            f"{source} has {values:,} values, and {JSON_VALUES:,} are read at most",
            hint="of `--status-interval`, keep the last document; otherwise split the file",
        )
    # Some versions print the deviation of one value, which is none, as C does.
    text = NO_NUMBER.sub("null", text)
    start, decoder = _next_start(text, 0), json.JSONDecoder()
    if start is None:
        raise FioOutputError(f"{source} has no JSON{sample(text)}", hint="run fio by hand with the job file to see why")
    while start is not None:
        try:
            document, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise FioOutputError(
                f"{source} breaks off or is damaged: {error.msg} at character {error.pos}",
                hint="fio may have died or its disk may be full",
            ) from error
        except (RecursionError, ValueError) as error:
            raise FioOutputError(f"{source} is no JSON that fio writes: {str(error)[:200]}") from error
        yield from _within(document) or [("", document)]
        start = _next_start(text, end)


START = re.compile(r"(?:^|\r)\{|\{(?=\s{0,80}\"fio version\")", re.MULTILINE)
NO_NUMBER = re.compile(r"(?<=: )-?(?:nan|inf)(?=[,\s}])")
WITHIN = 4
"""Levels of a document of somebody else's around fio's."""


def _within(document: object, levels: int = WITHIN) -> list[tuple[str, FioJob]]:
    """fio's documents in a list, or in a document that somebody else wrote around them, each with what that calls it:
    its key among several, or the first word beside it."""
    if isinstance(document, dict) and {"jobs", "client_stats"} & document.keys():
        return [("", document)]
    if isinstance(document, dict):
        pairs = list(document.items())
    else:
        pairs = [(_word(each), each) for each in document] if isinstance(document, list) else []
    found = [(key, name, run) for key, each in pairs if levels for name, run in _within(each, levels - 1)]
    by_key = len({key for key, _, _ in found}) > 1
    return [(key if by_key else name, run) for key, name, run in found]


def _word(document: object) -> str:
    words = document.values() if isinstance(document, dict) and "jobs" not in document else ()
    return next((text[:40] for text in words if isinstance(text, str)), "")


def _next_start(text: str, position: int) -> int | None:
    """A `{` at the start of a line (fio's progress ends in a carriage return), or behind a document that has just
    ended, opens the next one; elsewhere, one before fio's version.

    A `[` that opens the text opens a list of documents.
    """
    if position == 0 and re.compile(r"\s*\[\s*\{").match(text):
        return text.index("[")
    match = re.compile(r"\s*\{").match(text, position) or START.search(text, position)
    return match.end() - 1 if match else None


def _run(document: FioJob, source: str) -> FioDocument:
    jobs = document.get("jobs", document.get("client_stats"))
    if not isinstance(jobs, list) or not jobs:
        kind = "lists no jobs" if "fio version" in document else "is not fio's: it lists no `jobs`"
        begins = ", ".join(f"`{name[:30]}`" for name in list(document)[:4])
        raise FioOutputError(
            f"{source} is JSON, but {kind}",
            hint=f"it has {begins or 'nothing'}; fio writes `jobs`, or `client_stats` with --client",
        )
    if not all(isinstance(job, dict) for job in jobs):
        raise FioOutputError(f"{source} has a job that is none", hint="was the file changed after fio wrote it?")
    total = None
    if "client_stats" in document and len(jobs) > 1 and jobs[-1].get("jobname") == SUM_OF_CLIENTS:
        *jobs, total = jobs
    shared = _shared(document.get("global options", {}), source)
    for job in jobs:
        own = job.get("job options", {})
        if not isinstance(own, dict):
            raise FioOutputError(f"{source} has `job options` that are none")
        client = f"{job.get('hostname', '')}:{job.get('port', '')}"
        job["job options"] = {**_named(shared.get(client, shared.get("", {}))), **_named(own)}
    return FioDocument(
        version=str(document.get("fio version", "fio, version unknown")),
        jobs=jobs,
        shared=shared.get("", next(iter(shared.values()), {})),
        ended_s=_stamp(document),
        sum_of_clients=total,
    )


def _shared(options: object, source: str) -> dict[str, dict[str, str]]:
    """{"": options of `[global]`}, or of each client by `host:port`: newer clients print a list."""
    if isinstance(options, dict):
        return {"": options}
    if not isinstance(options, list) or not all(isinstance(client, dict) for client in options):
        raise FioOutputError(f"{source} has `global options` that are none")
    return {f"{client.get('hostname', '')}:{client.get('port', '')}": client for client in options}


def _named(options: Mapping[str, object]) -> dict[str, str]:
    return {ALIASES.get(name, name): str(value) for name, value in options.items()}


def _stamp(document: FioJob) -> float | None:
    for name, scale in (("timestamp_ms", 1e3), ("timestamp", 1.0)):
        value = document.get(name)
        if isinstance(value, int | float) and 0 < value / scale < 1e11:
            return value / scale
    return None


def _sides(job: FioJob) -> list[FioJob]:
    return [job[name] for name in SIDES if isinstance(job.get(name), dict)]


def _continues(first: FioDocument, then: FioDocument) -> bool:
    """Whether the second document is the first run some time later: the same jobs, which have done no less, begun
    before the first was printed."""
    if first.version != then.version or _names(first) != _names(then):
        return False
    done = [(_ios(one), _ios(other)) for one, other in zip(first.jobs, then.jobs, strict=True)]
    if any(later < earlier for earlier, later in done):
        return False
    before_s, after_s = first.runtime_s, then.runtime_s
    if after_s < before_s:
        return False
    if first.ended_s is not None and then.ended_s is not None:
        # A run that was started afterwards began when the first had ended, not half its length earlier.
        if then.ended_s < first.ended_s or then.ended_s - after_s > first.ended_s - before_s / 2:
            return False
    elif before_s == after_s:
        return False
    # Without time between them, much more cannot have been done.
    return after_s > before_s or sum(later for _, later in done) <= 1.02 * sum(earlier for earlier, _ in done)


def _names(run: FioDocument) -> list[tuple[object, object, object]]:
    return [(job.get("jobname"), job.get("groupid"), job.get("job options")) for job in run.jobs]


def _ios(job: FioJob) -> int:
    return sum(int(side.get("total_ios", 0)) for side in _sides(job))


def depth_of(options: Mapping[str, str], given: Given, *, alone: bool = False) -> tuple[int | None, str]:
    """(requests in flight per thread, a note where that is not what was asked for).

    `alone`: where fio saw one at a time, its default engine is a synchronous one, as on Linux.
    """
    text = str(options.get("iodepth", "1"))
    asked = int(text) if text.isdecimal() and 0 < len(text) < 10 else None
    if given.iodepth or asked is None or asked == 1:
        return given.iodepth or asked, ""
    engine = options.get("ioengine")
    if engine in SYNC_ENGINES or (engine is None and alone):
        name = f"the engine {engine}" if engine else "fio's default engine"
        return 1, f"iodepth={asked} had no effect: {name} sends one request at a time"
    return asked, ""
