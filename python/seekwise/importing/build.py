"""Foreign results as one run: combinations, configurations, repeats, and what a reader must know of them.

combination    what was done: operation, threads, request size, depth, and what else the format tells loads apart by
configuration  `--setting` of the file, else what the file calls it, else the file's name up to its first dot
repeat         the n-th result of a combination and configuration, in the order of the files
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from seekwise.errors import UsageError
from seekwise.files import read_regular
from seekwise.importing import registry
from seekwise.importing.result import ForeignError, Format, Given, Result, Source
from seekwise.store.database import IMPORTED, Run
from seekwise.store.record import Record
from seekwise.store.run_id import new_run_id
from seekwise.workload.study.plan import Combination, Load, Plan, PlannedPhase, Setting, SystemFacts, Trial
from seekwise.workload.study.quantity import size_word

FILE_BYTES_MAX = 2**30
REPEATS_WANTED = 3


def read(
    files: Sequence[Path],
    *,
    name: str = IMPORTED,
    labels: Sequence[str] = (),
    given: Given | None = None,
    format_name: str | None = None,
) -> tuple[Run, list[Record]]:
    """The run and its records. `labels`: one configuration per file, or none; `format_name`: do not look, it is this one."""
    given = given or Given()
    if labels and len(labels) != len(files):
        raise UsageError(f"{len(files)} files, but {len(labels)} times `--setting`", hint="one for each file, or none")
    if twice := next((path for path in files if list(files).count(path) > 1), None):
        raise UsageError(f"{twice} is named twice", hint="every file counts as a repeat: name it once")
    sources = [_source(path) for path in files]
    label_of = dict(zip(files, labels, strict=True)) if labels else {}
    run_id = new_run_id()
    pairs: list[tuple[Result, str, str]] = []
    used: set[str] = set()
    for form, group in _groups(sources, format_name):
        used.update(form.takes)
        for result in _results(form, group, given):
            label = label_of.get(group[0].path) or result.setting or _stem(form, group[0].path)
            pairs.append((result, label, ", ".join(str(source.path) for source in group)))
    if unused := [key for key in given.keys if key not in used]:
        raise UsageError(
            f"`--given {unused[0]}=…` says nothing about these files",
            hint=f"known there: {', '.join(sorted(used)) or 'nothing'}",
        )
    records = _records(run_id, pairs)
    return _run(run_id, name, records, pairs), records


def _results(form: Format, group: list[Source], given: Given) -> list[Result]:
    """What a format reads; whatever it stumbles over in a damaged file is one error that names the file."""
    try:
        return list(form.read(group, given))
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ForeignError(
            f"{group[0].path} looks like `{form.name}`, but something in it cannot be read: {error}",
            hint="is it complete and unchanged?",
        ) from error


def _source(path: Path) -> Source:
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise UsageError(f"{path} is larger than {FILE_BYTES_MAX >> 30} GiB", hint="a result file is smaller")
        data = read_regular(path, FILE_BYTES_MAX)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    if not data.strip():
        raise ForeignError(f"{path} is empty", hint="the tool may have died, or its disk was full")
    return Source(path, data)


def _groups(sources: list[Source], format_name: str | None) -> list[tuple[Format, list[Source]]]:
    """Sources by the trial that they belong to, in the order of their first file."""
    groups: dict[tuple[str, str], tuple[Format, list[Source]]] = {}
    for source in sources:
        form = registry.BY_NAME[format_name] if format_name else _format(source)
        key = form.group(source) if form.group else str(source.path)
        groups.setdefault((form.name, key), (form, []))[1].append(source)
    return list(groups.values())


def _format(source: Source) -> Format:
    for form in registry.FORMATS:
        if form.recognises(source):
            return form
    first = next((line.strip() for line in source.lines if line.strip()), "")
    begins = (
        f"begins: {first[:60]!r}"
        if first[:60].isprintable() and "\N{REPLACEMENT CHARACTER}" not in first
        else "is no text"
    )
    raise ForeignError(
        f"{source.path} has no format that is known; it {begins}",
        hint=f"known: {', '.join(each.title for each in registry.FORMATS)}; `--format NAME` if one of them is meant",
    )


def _stem(form: Format, path: Path) -> str:
    """`none.1.json` → `none`; of fio's logs the prefix, `none.1_lat.1.log` → `none`."""
    name = Path(form.group(Source(path, b""))).name if form.group else path.name
    return re.split(r"[.\s]", name, maxsplit=1)[0] or name


def _combination_key(result: Result) -> str:
    parts = [f"system={IMPORTED}", f"threads={result.threads or 1}"]
    parts += [f"block={size_word(result.block_bytes)}"] if result.block_bytes else []
    parts += [f"iodepth={result.iodepth}"] if result.iodepth and result.iodepth > 1 else []
    # Keys are split at spaces.
    words = ((name, re.sub(r"\s+", "_", str(value))) for name, value in result.more.items())
    parts += [f"{name}={word}" for name, word in words if word]
    return " ".join(parts)


def _records(run_id: str, pairs: list[tuple[Result, str, str]]) -> list[Record]:
    repeats: dict[tuple[str, str, tuple[str, ...]], int] = {}
    records = []
    for index, (result, label, file) in enumerate(pairs):
        combination = _combination_key(result)
        key = (combination, label, tuple(phase.operation for phase in result.phases))
        repeats[key] = repeats.get(key, 0) + 1
        factors: dict[str, str | int | float | bool] = {
            "system": IMPORTED,
            "setting": label,
            "threads": result.threads or 1,
            **({"block_bytes": result.block_bytes} if result.block_bytes else {}),
            **({"iodepth": result.iodepth} if result.iodepth else {}),
            **result.more,
        }
        records.append(
            Record(
                run_id=run_id,
                trial=index,
                repetition=repeats[key],
                combination=combination,
                setting=label,
                factors=factors,
                provenance="measured",
                seed=result.seed,
                started_at=result.started_at,
                phases=result.phases,
                environment={"file": file, **result.environment},
                load={"tool": result.tool, "options": result.options},
                conditions={"role": "candidate", "imported": True, "notes": list(result.notes)},
                valid=result.invalid_reason is None,
                invalid_reason=result.invalid_reason,
            )
        )
    return records


def notes(records: Sequence[Record], results: Sequence[Result]) -> tuple[str, ...]:
    """What the formats lack and what was repaired, once each."""
    said = list(dict.fromkeys(note for result in results for note in result.notes))
    if any(phase.cpu.system_cpu > 0 for record in records for phase in record.phases):
        said.append("CPU efficiency counts the load's own threads alone; kernel threads are not in these files")
    said.append("nothing in these files proves that no cache answered")
    if any(result.threads is None for result in results):
        said.append("the number of threads is not in every file: 1 was taken (`--given threads=N`)")
    repeats: dict[tuple[str, str], int] = {}
    for record in records:
        key = (record.combination, record.setting)
        repeats[key] = max(repeats.get(key, 0), record.repetition)
    few = [key for key, count in repeats.items() if count < REPEATS_WANTED]
    if len({record.setting for record in records}) < 2:
        said.append("one configuration only, so there is nothing to compare: import files of another one with it")
    if few:
        said.append(
            f"{len(few)} of {len(repeats)} combinations have fewer than {REPEATS_WANTED} repeats: a difference there cannot be told "
            "from noise; import more files of the same configuration"
        )
    said.append("the order of trials is not known, so drift cannot be told from a difference")
    return tuple(f"Imported: {note}" for note in said)


def _run(run_id: str, name: str, records: list[Record], pairs: list[tuple[Result, str, str]]) -> Run:
    keys = list(dict.fromkeys(record.combination for record in records))
    labels = list(dict.fromkeys(record.setting for record in records))
    combinations = tuple(
        _combination(key, next(record for record in records if record.combination == key)) for key in keys
    )
    tools = ", ".join(dict.fromkeys(result.tool for result, _, _ in pairs))
    trials = tuple(
        Trial(r.trial, r.repetition, keys.index(r.combination), labels.index(r.setting), "candidate", r.seed)
        for r in records
    )
    system, settings = SystemFacts(IMPORTED, f"results of {tools}"), tuple(Setting(label, {}) for label in labels)
    said = notes(records, [result for result, _, _ in pairs])
    plan = Plan.of_records(name, IMPORTED, 0, system, combinations, settings, trials, said).to_document()
    names = ", ".join(dict.fromkeys(file for _, _, file in pairs))
    return Run.begun(name, IMPORTED, plan, seed=0, study=f"# imported from {names}\n", run_id=run_id)


def _combination(key: str, record: Record) -> Combination:
    load = Load(
        IMPORTED,
        phases=tuple(PlannedPhase(phase.operation) for phase in record.phases),
        threads=int(record.factors["threads"]),
        block_bytes=int(record.factors.get("block_bytes", 4096)),
        iodepth=int(record.factors.get("iodepth", 1)),
    )
    return Combination(key, IMPORTED, load)
