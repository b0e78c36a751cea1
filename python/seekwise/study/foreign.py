"""Results that were made elsewhere: fio's JSON as records of a run.

A file is one trial: its groups of jobs that ran together are the phases. Files of one setting are its repeats, in the order
given; the n-th repeat of each setting forms block n. System-wide CPU time and device counters are not in fio's output, so
CPU efficiency counts the job threads alone, and nothing proves that no cache answered; both are said in the notes.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

from seekwise.backend.kernel import fio_result
from seekwise.control.files import read_regular
from seekwise.errors import UsageError
from seekwise.run.execute import new_run_id
from seekwise.store.database import Run, now
from seekwise.store.record import Phase, Record
from seekwise.study.plan import Cell, Load, Plan, Setting, SystemFacts, Trial

FILE_BYTES_MAX = 64 << 20
THREADS_MAX = 1 << 20
OPTION_SHOWN = 80
SYSTEM = "imported"
NOTES = (
    "Imported: CPU efficiency counts the job threads alone, and nothing here proves that no cache answered",
    "Imported: the order of trials is not known, so drift cannot be told from a difference",
)


def read(files: tuple[Path, ...], *, name: str, labels: tuple[str, ...]) -> tuple[Run, list[Record]]:
    """The run and its records; a file that is no fio JSON is an error that names it."""
    if labels and len(labels) != len(files):
        raise UsageError(f"{len(files)} files, but {len(labels)} times `--setting`", hint="one for each file, or none")
    labels = labels or tuple(re.split(r"[.\s]", path.name, maxsplit=1)[0] for path in files)
    run_id = new_run_id()
    records: list[Record] = []
    repeats: dict[tuple[str, str], int] = {}
    for index, (path, label) in enumerate(zip(files, labels, strict=True)):
        document = _document(path)
        phases = [_phase(jobs) for jobs in _groups(document["jobs"])]
        cell = _cell_key(document)
        repeats[cell, label] = repeats.get((cell, label), 0) + 1
        records.append(
            Record(
                run_id=run_id,
                trial=index,
                block=repeats[cell, label],
                cell=cell,
                setting=label,
                factors=_factors(document, label),
                badge="measured",
                seed=_seed(document),
                started_at=_started(document),
                phases=tuple(phases),
                environment={"file": str(path)},
                load={
                    "fio": str(document.get("fio version", "unknown")),
                    "options": document.get("global options", {}),
                },
                conditions={"role": "candidate", "imported": True},
                valid=not any(job.get("error") for job in document["jobs"]),
                invalid_reason="fio reports an error" if any(job.get("error") for job in document["jobs"]) else None,
            )
        )
    return _run(run_id, name, records), records


def _document(path: Path) -> dict:
    try:
        text = read_regular(path, FILE_BYTES_MAX).decode("utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    return fio_result.parse(text, str(path))


def _groups(jobs: list[dict]) -> list[list[dict]]:
    """Jobs that ran together: fio counts their group; `stonewall` and `new_group` raise it."""
    ordered = sorted(jobs, key=_group)
    return [list(group) for _, group in groupby(ordered, key=_group)]


def _group(job: dict) -> int:
    number = job.get("groupid", 0)
    if not isinstance(number, int):
        raise fio_result.FioOutputError(f"fio's JSON has a `groupid` that is no number: {str(number)[:40]!r}")
    return number


def _phase(jobs: list[dict]) -> Phase:
    return fio_result.phase(jobs).as_phase()


def _options(document: dict) -> dict[str, str]:
    first = document["jobs"][0].get("job options", {})
    return {**document.get("global options", {}), **first}


def _threads(document: dict) -> int:
    options = _options(document)
    jobs = len(_groups(document["jobs"])[0])
    return max(jobs, min(_number(options.get("numjobs")), THREADS_MAX))


def _number(text: object) -> int:
    """A whole number as fio prints options: as text; 0 for anything else."""
    return int(str(text)) if str(text).isascii() and str(text).isdigit() and len(str(text)) < 20 else 0


def _cell_key(document: dict) -> str:
    options = _options(document)
    parts = [f"system={SYSTEM}", f"threads={_threads(document)}"]
    parts += [f"{key}={str(options[key])[:OPTION_SHOWN]}" for key in ("bs", "iodepth") if key in options]
    return " ".join(parts)


def _factors(document: dict, label: str) -> dict[str, str | int | float | bool]:
    options = _options(document)
    return {
        "system": SYSTEM,
        "setting": label,
        "threads": _threads(document),
        **{key: str(options[key])[:OPTION_SHOWN] for key in ("bs", "iodepth", "ioengine", "direct") if key in options},
    }


def _seed(document: dict) -> int:
    return min(_number(_options(document).get("randseed")), 2**63 - 1)


def _started(document: dict) -> str:
    stamp = document.get("timestamp")
    try:
        moment = datetime.fromtimestamp(stamp, UTC) if isinstance(stamp, int | float) else None
    except (ValueError, OverflowError, OSError):
        moment = None
    return moment.isoformat() if moment else "unknown"


def _run(run_id: str, name: str, records: list[Record]) -> Run:
    keys = list(dict.fromkeys(record.cell for record in records))
    labels = list(dict.fromkeys(record.setting for record in records))
    cells = tuple(Cell(key, SYSTEM, Load(SYSTEM, threads=_threads_of(records, key))) for key in keys)
    plan = Plan(
        study=name,
        backend="imported",
        seed=0,
        blocks=max(record.block for record in records),
        compare=("setting",),
        reference=labels[0],
        cells=cells,
        settings=tuple(Setting(label, {}) for label in labels),
        trials=tuple(
            Trial(
                record.trial,
                record.block,
                keys.index(record.cell),
                labels.index(record.setting),
                "candidate",
                record.seed,
            )
            for record in records
        ),
        systems=(SystemFacts(SYSTEM, "fio's JSON"),),
        touched=(),
        wait_s=0.0,
        settle_s=0.0,
        trim=False,
        attempts=1,
        prepare_s=0.0,
        trial_s=tuple(0.0 for _ in cells),
        bytes_per_trial=tuple(0 for _ in cells),
        bytes_prepared=0,
        notes=NOTES,
    )
    names = ", ".join(str(record.environment["file"]) for record in records)
    return Run(
        run_id=run_id,
        created_at=now(),
        seekwise_version=version("seekwise"),
        name=name,
        backend="imported",
        target=None,
        seed=0,
        study=f"# imported from {names}\n",
        plan=plan.to_document(),
        ended_at=None,
        outcome=None,
    )


def _threads_of(records: list[Record], key: str) -> int:
    return next(int(record.factors["threads"]) for record in records if record.cell == key)
