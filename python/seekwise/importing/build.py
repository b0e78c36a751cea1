"""Foreign results as one run: combinations, configurations, repeats, and what a reader must know of them.

combination    what was done: operation, threads, request size, depth, and what else the format tells loads apart by
configuration  the set-up, as `setups.py` names it
repeat         the n-th result of a combination and configuration, in the order of the files
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from seekwise.bounds import LOG_BYTES, LOGS_BYTES, MIB, RESULT_BYTES, toml
from seekwise.errors import UsageError, reason
from seekwise.files import read_regular, read_text
from seekwise.importing import fio_logs, registry, setups
from seekwise.importing.result import PAGE_CACHE, ForeignError, Format, Given, Result, Source, ms
from seekwise.importing.setups import Measured
from seekwise.store import operations
from seekwise.store.database import IMPORTED, Run
from seekwise.store.record import Record
from seekwise.store.run_id import new_run_id
from seekwise.workload.study.plan import Combination, Load, Plan, PlannedPhase, Setting, SystemFacts, Trial
from seekwise.workload.study.quantity import size_word

REPEATS_WANTED = 3


def read(
    files: Sequence[Path],
    *,
    name: str = IMPORTED,
    labels: Sequence[str] = (),
    given: Given | None = None,
    format_name: str | None = None,
) -> tuple[Run, list[Record]]:
    """The run and its records. `labels`: one configuration per file, or none; `format_name`: do not look, it is this
    one."""
    given = given or Given()
    if labels and len(labels) != len(files):
        raise UsageError(f"{len(files)} files, but {len(labels)} times `--setting`", hint="one for each file, or none")
    if twice := next((path for path in files if list(files).count(path) > 1), None):
        raise UsageError(f"{twice} is named twice", hint="every file counts as a repeat: name it once")
    read_files = [_source(path) for path in files]
    if (total := sum(len(source.data) for source in read_files)) > LOGS_BYTES:
        raise UsageError(
            f"the files have {total / MIB:,.0f} MiB together, and {LOGS_BYTES // MIB} are read at most",
            hint="import them in several runs",
        )
    sources, left_out = fio_logs.without_those_of_json(read_files)
    label_of = dict(zip(files, labels, strict=True)) if labels else {}
    run_id = new_run_id()
    found: list[Measured] = []
    used: set[str] = set()
    for form, group in _groups(sources, format_name):
        used.update(form.takes)
        for result in _results(form, group, given):
            path = group[0].path
            names = ", ".join(str(source.path) for source in group)
            setting = label_of.get(path) or result.setting
            found.append(Measured(result, path, names, _load(result), _stem(form, path), setting))
    if unused := [key for key in given.keys if key not in used]:
        raise UsageError(
            f"`--given {unused[0]}=…` says nothing about these files",
            hint=f"known there: {', '.join(sorted(used)) or 'nothing'}",
        )
    one_each, named, at_once = setups.together(found, setups.labels(found), _load)
    measured, labelled, depths = setups.by_depth(one_each, named)
    records = _records(run_id, measured, labelled)
    said = [*([depths] if depths else []), *left_out, *at_once, *setups.notes(measured, labelled)]
    return _run(run_id, name, records, [entry.result for entry in measured], said, by_depth=bool(depths)), records


def _results(form: Format, group: list[Source], given: Given) -> list[Result]:
    """What a format reads; whatever it stumbles over in a damaged file is one error that names the file."""
    try:
        return list(form.read(group, given))
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ForeignError(
            f"{group[0].path} looks like `{form.name}`, but something in it cannot be read: {error}",
            hint="is it complete and unchanged?",
        ) from error


def _source(path: Path) -> Source:
    try:
        most = LOG_BYTES if fio_logs.is_log(path) else RESULT_BYTES
        if path.stat().st_size > most:
            raise UsageError(
                f"{path} has {path.stat().st_size / MIB:,.1f} MiB, and {most // MIB} are read at most",
                hint="of a log, write averages (log_avg_msec) or a histogram (write_hist_log); split what holds several runs",
            )
        data = read_regular(path, most)
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}", hint="name files that fio or another benchmark has written"
        ) from error
    except ValueError as error:
        hint = f"name files in it: `{path}/*`" if path.is_dir() else None
        raise UsageError(f"cannot read {path}: {error}", hint) from error
    if not data.strip() and not fio_logs.may_be_empty(path):
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


SIGNS_WITHIN = 65_536


def named(source: Source, wanted: str = "benchmark") -> UsageError | None:
    """What another program's output is, and which command answers what it is about."""
    for row in toml(read_text(Path(__file__).with_name("others.toml")))["others"]:
        for program, sign in row["programs"].items():
            if re.compile(sign, re.MULTILINE).search(source.text[:SIGNS_WITHIN]):
                verb = "use" if "seekwise " in row["command"] else "what is read:"
                said = row.get("said", "is output of PROGRAM, which is not read").replace("benchmark", wanted)
                hint = f"{verb} `{row['command']}`".replace("PROGRAM", program)
                return source.error(said.replace("PROGRAM", program), hint=hint)
    return None


def _format(source: Source) -> Format:
    if form := next((form for form in registry.FORMATS if form.recognises(source)), None):
        return form
    if other := named(source):
        raise other
    if _is_trace(source):
        raise source.error("is a trace of requests, not a benchmark", hint="use `seekwise trace show FILE`")
    if source.path.suffix == ".json":
        return registry.BY_NAME["fio-json"]
    first = next((line.strip() for line in source.lines if line.strip()), "")
    try:
        source.data.decode()
        begins = f"it begins: {first[:60]!r}"
    except UnicodeDecodeError as error:
        begins = reason(error)
    raise ForeignError(
        f"{source.path} has no format that is known; {begins}",
        hint=f"known: {', '.join(known.title for known in registry.FORMATS)}; `--format NAME` if one of them is meant",
    )


def _is_trace(source: Source) -> bool:
    from seekwise.trace import readers  # numpy, which most imports do without

    return any(form.recognises(source.data[: readers.HEAD_BYTES]) for form in readers.FORMATS)


def _stem(form: Format, path: Path) -> str:
    """`none.1.json` → `none`; of fio's logs the prefix, `none.1_lat.1.log` → `none`."""
    name = Path(form.group(Source(path, b""))).name if form.group else path.name
    return re.split(r"[.\s]", name, maxsplit=1)[0] or name


def _load(result: Result) -> str:
    """What was done, operations included."""
    return f"{'+'.join(phase.operation for phase in result.phases)} {_combination_key(result)}"


def _combination_key(result: Result) -> str:
    parts = [f"system={IMPORTED}", f"threads={result.threads or 1}"]
    parts += [f"block={size_word(result.block_bytes)}"] if result.block_bytes else []
    parts += [f"iodepth={result.iodepth}"] if result.iodepth and result.iodepth > 1 else []
    # Keys are split at spaces and at the first equals sign.
    words = ((name, re.sub(r"[\s=]+", "_", str(value))) for name, value in result.more.items())
    parts += [f"{name}={word}" for name, word in words if word]
    return " ".join(parts)


def _factors(result: Result, label: str, differing: set[str]) -> dict[str, str | int | float | bool]:
    """`load`: what tells the loads of one run apart, besides what has a column of its own."""
    apart = ", ".join(
        f"{'' if name == 'pattern' else f'{name} '}{result.more[name]}" for name in result.more if name in differing
    )
    return {
        "system": IMPORTED,
        "setting": label,
        "threads": result.threads or 1,
        **({"block_bytes": result.block_bytes} if result.block_bytes else {}),
        **({"iodepth": result.iodepth} if result.iodepth else {}),
        **({"load": apart} if differing else {}),
        **result.more,
    }


def _records(run_id: str, measured: Sequence[Measured], labels: Sequence[str]) -> list[Record]:
    repeats: dict[tuple[str, str], int] = {}
    records = []
    known = [entry.result.more for entry in measured]
    differing = {name for more in known for name in more if len({str(other.get(name)) for other in known}) > 1}
    for index, (entry, label) in enumerate(zip(measured, labels, strict=True)):
        result = entry.result
        key = (entry.load, label)
        repeats[key] = repeats.get(key, 0) + 1
        records.append(
            Record(
                run_id=run_id,
                trial=index,
                repetition=repeats[key],
                combination=entry.load.partition(" ")[2],
                setting=label,
                factors=_factors(result, label, differing - {"load"}),
                provenance="measured",
                seed=result.seed,
                started_at=result.started_at,
                phases=result.phases,
                environment={"file": entry.files, **result.environment},
                load={"tool": result.tool, "options": result.options},
                conditions={
                    "role": "candidate",
                    "imported": True,
                    "notes": list(result.notes),
                    # Of what waits for syncs, rate × latency is no depth.
                    **({} if result.keeps_depth else {"keeps_depth": False}),
                },
                valid=result.invalid_reason is None,
                invalid_reason=result.invalid_reason,
            )
        )
    return records


STALL_NS = 1e9
STALL_TIMES = 10
STALL_TIMES_MEAN = 100
"""A longest request so many times p99, or where that is not known the mean, is no tail of the same distribution."""


def stalls(records: Sequence[Record]) -> list[str]:
    """What stood still, told by the longest request and by a mean above p99, in sentences."""
    said = []
    for record in records:
        for phase in record.phases if record.valid else ():
            # Of the printed percentiles, whether or not there are enough requests to compare them.
            p99_ns, mean_ns = phase.percentiles_ns.get("99"), phase.latency_mean_ns
            where = f"{record.setting}, {operations.name(phase.operation)[:1].lower()}{operations.name(phase.operation)[1:]}"
            if not p99_ns:
                if phase.latency_max_ns >= max(STALL_NS, STALL_TIMES_MEAN * mean_ns) and mean_ns:
                    said.append(f"{where}: the longest request took {ms(phase.latency_max_ns)} (mean {ms(mean_ns)})")
                continue
            above = f"the mean ({ms(mean_ns)}) is above p99 ({ms(p99_ns)})" if mean_ns > p99_ns else ""
            longest = ms(phase.latency_max_ns)
            if phase.latency_max_ns >= max(STALL_NS, STALL_TIMES * p99_ns):
                rest = f", and {above}: the rate is that of a stall" if above else f" (p99 {ms(p99_ns)})"
                said.append(f"{where}: the longest request took {longest}{rest}")
            elif above:
                said.append(f"{where}: {above}: a few requests, up to {longest}, took most of the time")
    return list(dict.fromkeys(said))


def notes(records: Sequence[Record], results: Sequence[Result], taken: Sequence[str]) -> tuple[str, ...]:
    """What the formats lack, what was repaired, what was taken for a repeat, once each; what leads comes first."""
    leading = dict.fromkeys(result.leads for result in results if result.leads)
    several = len({record.setting for record in records}) > 1
    said = [*leading, *stalls(records), *taken, *(_few_repeats(records) if several else ())]
    said += dict.fromkeys(note for result in results for note in result.notes)
    if any(phase.cpu.system_cpu > 0 for record in records for phase in record.phases):
        said.append("CPU efficiency counts the load's own threads alone; kernel threads are not in these files")
    if not any(PAGE_CACHE in note for note in said):
        said.append("nothing in these files proves that no cache answered")
    if any(result.threads is None for result in results):
        said.append("the number of threads is not in every file: 1 was taken (`--given threads=N`)")
    if several:
        said.append("the order of trials is not known, so drift cannot be told from a difference")
    return tuple(f"Imported: {note}" for note in said)


def _few_repeats(records: Sequence[Record]) -> list[str]:
    """That repeats are too few to compare set-ups."""
    repeats: dict[tuple[str, str], int] = {}
    for record in records:
        done = "+".join(phase.operation for phase in record.phases)
        key = (f"{done} {record.combination}", record.setting)
        repeats[key] = max(repeats.get(key, 0), record.repetition)
    few = sum(count < REPEATS_WANTED for count in repeats.values())
    said = (
        f"{few} of {len(repeats)} combinations have fewer than {REPEATS_WANTED} repeats: a difference there cannot be told "
        "from noise; import more files of the same configuration"
    )
    return [said] if few else []


def _run(
    run_id: str, name: str, records: list[Record], results: Sequence[Result], taken: Sequence[str], *, by_depth: bool
) -> Run:
    keys = list(dict.fromkeys(record.combination for record in records))
    labels = list(dict.fromkeys(record.setting for record in records))
    combinations = tuple(_combination(key, [record for record in records if record.combination == key]) for key in keys)
    trials = tuple(
        Trial(r.trial, r.repetition, keys.index(r.combination), labels.index(r.setting), "candidate", r.seed)
        for r in records
    )
    depths = {r.setting: {"iodepth": r.factors["iodepth"]} for r in records} if by_depth else {}
    settings = tuple(Setting(label, depths.get(label, {})) for label in labels)
    system = SystemFacts(IMPORTED, f"results of {', '.join(dict.fromkeys(result.tool for result in results))}")
    said = notes(records, results, taken)
    plan = Plan.of_records(name, IMPORTED, 0, system, combinations, settings, trials, said)
    lead = next((result.leads for result in results if result.leads), "")
    names = ", ".join(dict.fromkeys(str(record.environment["file"]) for record in records))
    document, study = replace(plan, lead=lead).to_document(), f"# imported from {names}\n"
    return Run.begun(name, IMPORTED, document, seed=0, study=study, run_id=run_id)


def _mean_bytes(record: Record) -> int:
    phase = record.phases[-1]
    return phase.bytes // phase.ios if phase.ios else 0


def _combination(key: str, members: Sequence[Record]) -> Combination:
    record = members[0]
    done = dict.fromkeys(phase.operation for member in members for phase in member.phases)
    load = Load(
        IMPORTED,
        phases=tuple(PlannedPhase(operation) for operation in done),
        threads=int(record.factors["threads"]),
        # Of sizes that vary their mean.
        block_bytes=int(record.factors.get("block_bytes") or _mean_bytes(record) or 4096),
        iodepth=int(record.factors.get("iodepth", 1)),
    )
    return Combination(key, IMPORTED, load)
