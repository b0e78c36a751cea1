"""fio's JSON (`--output-format=json` and `json+`): every group of jobs that ran together is one phase.

json+ has the histogram of every job and is merged; plain json has percentiles, which cannot be merged over jobs or over
reads and writes: they are taken where one side of one (grouped) job has them, and left out elsewhere, with a note.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby

from seekwise.errors import SeekwiseError
from seekwise.importing import fio_result
from seekwise.importing.result import ForeignError, Format, Given, Result, Source
from seekwise.store.record import Phase
from seekwise.workload.study.quantity import parse_bytes


def _recognises(source: Source) -> bool:
    if source.path.suffix == ".json":
        return True
    return '"jobs"' in source.text and '"fio version"' in source.text


def _read(sources: list[Source], given: Given) -> list[Result]:
    (source,) = sources
    document = fio_result.parse(source.text, str(source.path))
    jobs = document["jobs"]
    if not all(isinstance(job, dict) for job in jobs):
        raise source.error("its `jobs` are no objects", hint="was it written with --output-format=json+ ?")
    try:
        phases, notes = _phases(jobs)
        return [_result(document, jobs, phases, notes, given)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise source.error(f"fio's JSON {fio_result.garbled(error)}", hint="fio 3.0 or newer is needed") from error
    except SeekwiseError as error:
        raise ForeignError(f"{source.path}: {error.message}", error.hint) from error


def _phases(jobs: list[dict]) -> tuple[tuple[Phase, ...], tuple[str, ...]]:
    phases, unmerged = [], False
    for group in _groups(jobs):
        found = fio_result.phase(group)
        if found.ios == 0 and found.elapsed_s == 0:
            continue
        reported = {} if found.latency_bins else _percentiles(group)
        unmerged |= not found.latency_bins and not reported
        phases.append(found.as_phase(reported_percentiles_ns=reported))
    if not phases:
        raise ValueError("read and write counts: every job did nothing")
    note = (
        "p99 is absent where several jobs, or reads and writes, were reported apart: percentiles cannot be merged "
        "(json+ has histograms, which can)"
    )
    return tuple(phases), (note,) if unmerged else ()


def _groups(jobs: list[dict]) -> list[list[dict]]:
    """Jobs that ran together: fio counts their group; `stonewall` and `new_group` raise it."""
    ordered = sorted(jobs, key=lambda job: job.get("groupid", 0))
    return [list(group) for _, group in groupby(ordered, key=lambda job: job.get("groupid", 0))]


def _percentiles(jobs: list[dict]) -> dict[str, int]:
    """{percent: ns} of a phase that one side of one job made up."""
    sides = [job[name] for job in jobs for name in ("read", "write") if job.get(name, {}).get("total_ios", 0) > 0]
    if len(sides) != 1:
        return {}
    for name in ("lat_ns", "clat_ns"):
        found = sides[0].get(name, {}).get("percentile")
        if found:
            return {f"{float(percent):g}": int(value) for percent, value in found.items()}
    return {}


def _options(document: dict, jobs: list[dict]) -> dict[str, str]:
    return {**document.get("global options", {}), **jobs[0].get("job options", {})}


def _result(document: dict, jobs: list[dict], phases: tuple, notes: tuple[str, ...], given: Given) -> Result:
    options = _options(document, jobs)
    errors = [job for job in jobs if job.get("error")]
    stamp = document.get("timestamp")
    return Result(
        phases=phases,
        tool=str(document.get("fio version", "fio, version unknown")),
        threads=given.threads or _threads(jobs, options),
        block_bytes=given.block_bytes or _block(options),
        iodepth=given.iodepth or (int(options["iodepth"]) if str(options.get("iodepth", "")).isdigit() else None),
        more={key: str(options[key]) for key in ("ioengine", "direct") if key in options},
        options=document.get("global options", {}) | {"jobs": [job.get("job options", {}) for job in jobs]},
        seed=int(options["randseed"]) if str(options.get("randseed", "")).isdigit() else 0,
        started_at=datetime.fromtimestamp(stamp, UTC).isoformat() if isinstance(stamp, int | float) else "unknown",
        notes=notes,
        invalid_reason=f"fio reports error {errors[0]['error']}" if errors else None,
    )


def _threads(jobs: list[dict], options: dict[str, str]) -> int:
    together = len(_groups(jobs)[0])
    return max(together, int(options["numjobs"])) if str(options.get("numjobs", "")).isdigit() else together


def _block(options: dict[str, str]) -> int | None:
    """The request size; None where reads and writes differ (`bs=4k,64k`)."""
    text = str(options.get("bs", options.get("blocksize", "4096")))
    try:
        return parse_bytes(text)
    except ValueError:
        return None


FORMAT = Format("fio-json", "fio JSON (json, json+)", _recognises, _read, takes=("threads", "block", "iodepth"))
