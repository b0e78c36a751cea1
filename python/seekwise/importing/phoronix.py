"""Results of the Phoronix Test Suite (`composite.xml`, or the CSV that `result-file-to-csv` makes of it): pts/fio and
pts/tiobench; other tests are counted and left out.

Every result has an entry per system identifier (the configuration), with the values of its runs in `RawString` (the
repeats). pts/fio reports the same runs twice, as MB/s and as IOPS: both go into one record. Neither has latencies or
CPU. pts/tiobench 1.3.x builds tiobench 0.4.x of 2017, which prints random rates as if the whole file had been read (see
`tiotest.py`): they are divided by blocks per thread / 1000.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

from seekwise.bounds import XML_BYTES
from seekwise.importing.result import MIB, Format, Given, Result, Source, phase_of_throughput
from seekwise.store.operations import Operation
from seekwise.store.record import Phase
from seekwise.workload.study.quantity import parse_bytes

TYPES: dict[str, Operation] = {
    "random read": "rand_read",
    "random write": "rand_write",
    "sequential read": "seq_read",
    "sequential write": "seq_write",
    "read": "seq_read",
    "write": "seq_write",
}
TIOBENCH_BLOCK_BYTES = 4096
TIOBENCH_RANDOM_OPERATIONS = 1000
MB = 10**6
RATES = ("MB/s", "IOPS")


@dataclass(frozen=True)
class Test:
    """What a test profile measured, from its description."""

    profile: str
    operation: Operation
    threads: int | None
    block_bytes: int | None
    more: dict[str, str | int]


CSV_TEST = re.compile(
    r"(?P<title>Flexible IO Tester|Threaded I/O Tester)[^-]{0,40} - (?P<about>.*?)(?: - Average)? \((?P<unit>[^()]+)\)$"
)
"""A test in the CSV; what it calls profiles."""
CSV_PROFILES = {"Flexible IO Tester": "pts/fio", "Threaded I/O Tester": "pts/tiobench"}
Entry = tuple[str, str, str, list[tuple[str, str]]]
"""Profile, description, unit, and the values of each system."""


def _recognises(source: Source) -> bool:
    return "<PhoronixTestSuite" in source.text[:4096] or (
        any(title in source.text for title in CSV_PROFILES) and '"Processor",' in source.text
    )


def _read(sources: list[Source], given: Given) -> list[Result]:
    (source,) = sources
    is_xml = "<PhoronixTestSuite" in source.text[:4096]
    client, entries = _of_xml(source) if is_xml else ("phoronix-test-suite", list(_of_csv(source)))
    # {(test, system): {unit: values of the runs}}
    measured: dict[tuple[str, str], dict[str, list[float]]] = {}
    tests: dict[str, Test] = {}
    others: set[str] = set()
    for profile, description, unit, values in entries:
        if not re.match(r"pts/(fio|tiobench)\b", profile):
            others.add(profile or "a test without identifier")
            continue
        scale = _scale(source, unit, profile)
        key = f"{profile} {description}"
        tests[key] = _test(source, profile, description, given)
        for system, text in values:
            if found := _values(source, text, key):
                measured.setdefault((key, system), {})[scale] = found
    if not measured:
        left = f"; left out: {', '.join(sorted(others)[:5])}" if others else ""
        raise source.error(f"has no values of pts/fio or pts/tiobench{left}")
    notes = ["results of the Phoronix Test Suite have no latencies and no CPU time"]
    if others:
        notes.append(f"left out, no storage test that is read: {', '.join(sorted(others)[:5])}")
    results = []
    for (key, system), by_scale in measured.items():
        results += _results(tests[key], system, by_scale, client, notes)
    return results


def _of_xml(source: Source) -> tuple[str, list[Entry]]:
    """The program's name and its entries; runs of a test stand in `RawString`."""
    if len(source.data) > XML_BYTES:
        raise source.error(f"has more than {XML_BYTES // MIB} MiB, which no result of the Phoronix Test Suite has")
    if "<!DOCTYPE" in source.text or "<!ENTITY" in source.text:
        raise source.error("declares a document type, which result files of the Phoronix Test Suite do not")
    try:
        root = ElementTree.fromstring(source.data)
    except ElementTree.ParseError as error:
        raise source.error(f"is no well-formed XML: {error}", hint="was the file cut off?") from error
    nodes = root.findall("Result")
    if not nodes:
        raise source.error("has no `Result`", hint="`composite.xml` of a saved result is needed")
    client = root.findtext("Generated/TestClient") or root.findtext("Generated/Client") or "phoronix-test-suite"
    found = []
    for node in nodes:
        values = [
            (_text(entry, "Identifier") or "unnamed", _text(entry, "RawString") or _text(entry, "Value"))
            for entry in node.iterfind("Data/Entry")
        ]
        found.append((_text(node, "Identifier"), node.findtext("Description") or "", _text(node, "Scale"), values))
    return client, found


def _text(node: ElementTree.Element, name: str) -> str:
    return (node.findtext(name) or "").strip()


def _of_csv(source: Source) -> Iterator[Entry]:
    """A column for each system, whose names stand behind a blank cell; a line for each test, with the mean of its
    runs."""
    systems: list[str] = []
    for first, *cells in filter(None, csv.reader(source.lines)):
        if first.isspace():
            systems = cells
        elif match := CSV_TEST.match(first):
            yield CSV_PROFILES[match["title"]], match["about"], match["unit"], list(zip(systems, cells, strict=False))
        elif systems and re.search(r" - .* \([^()]+\)$", first):
            yield first.partition(" - ")[0], "", "", []


def _scale(source: Source, unit: str, profile: str) -> str:
    for known in RATES:
        if unit.lower() == known.lower():
            return known
    raise source.error(f"{profile}: the unit {unit!r} is none of {', '.join(RATES)}")


def _values(source: Source, text: str, key: str) -> list[float]:
    return [
        value
        for word in re.split(r"[:,]", text)
        if word.strip() and (value := source.number(word, f"{key}: a value")) > 0
    ]


def _fields(description: str) -> dict[str, str]:
    """`Type: Random Read - Block Size: 4KB` as {type: random read, …}."""
    parts = re.split(r"\s+-\s+(?=[A-Z][A-Za-z/ ]+:)", description)
    return {name.strip().lower(): value.strip() for name, _, value in (part.partition(":") for part in parts) if value}


def _test(source: Source, profile: str, description: str, given: Given) -> Test:
    fields = _fields(description)
    name = fields.get("type") or fields.get("test") or description
    operation = given.operation or TYPES.get(name.lower()) or _in_words(description)
    if operation is None:
        raise source.error(
            f"{profile}: {description[:60]!r} does not say what was done", hint="`--given operation=rand_read`"
        )
    if profile.startswith("pts/tiobench"):
        size = re.search(r"(\d+)\s*MB", fields.get("size per thread", description))
        count = fields.get("thread count") or (found[1] if (found := re.search(r"(\d+) Threads?", description)) else "")
        threads = int(count) if count.isdigit() else None
        more: dict[str, str | int] = {"file_mib_per_thread": int(size[1])} if size else {}
        return Test(profile, operation, given.threads or threads, given.block_bytes or TIOBENCH_BLOCK_BYTES, more)
    jobs = fields.get("job count", "1")
    block = _block(fields.get("block size", ""))
    engine = {
        name.replace(" ", "_"): fields[name] for name in ("engine", "io engine", "direct", "buffered") if name in fields
    }
    return Test(profile, operation, given.threads or (int(jobs) if jobs.isdigit() else None), given.block_bytes or block,
                {**engine})  # fmt: skip


def _in_words(description: str) -> Operation | None:
    words = description.lower()
    return next((operation for name, operation in TYPES.items() if name in words), None)


def _block(text: str) -> int | None:
    try:
        return parse_bytes(text) if text else None
    except ValueError:
        return None


def _results(test: Test, system: str, by_scale: dict[str, list[float]], client: str, notes: list[str]) -> list[Result]:
    counts = {len(values) for values in by_scale.values()}
    runs = min(counts)
    said = list(notes)
    factor = _overstated(test)
    if factor != 1:
        said.append(
            f"{test.profile}: random rates divided by {factor:.3g}: its tiobench counts the whole file instead of "
            f"{TIOBENCH_RANDOM_OPERATIONS} operations per thread"
        )
    if len(counts) > 1:
        said.append(f"{test.profile} has {max(counts)} runs of one unit and {runs} of the other: {runs} are used")
    if "MB/s" in by_scale and "IOPS" not in by_scale:
        said.append(f"{test.profile}: its MB/s are MiB/s, as fio prints them: {by_scale['MB/s'][0]:g} printed")
    if test.block_bytes is None and "IOPS" not in by_scale:
        said.append(f"{test.profile}: the request size is not said, so there are no IOPS (`--given block=4k`)")
    return [
        Result(
            phases=(_phase(test, {scale: values[run] for scale, values in by_scale.items()}, factor),),
            tool=f"{client}, {test.profile}",
            threads=test.threads,
            block_bytes=test.block_bytes,
            setting=system,
            more={"load": test.profile, **test.more},
            notes=tuple(said),
        )
        for run in range(runs)
    ]


def _overstated(test: Test) -> float:
    match = re.search(r"pts/tiobench-1\.(\d+)", test.profile)
    size = test.more.get("file_mib_per_thread")
    if match is None or int(match[1]) < 3 or not test.operation.startswith("rand") or not isinstance(size, int):
        return 1.0
    return size * MIB / TIOBENCH_BLOCK_BYTES / TIOBENCH_RANDOM_OPERATIONS


def _phase(test: Test, value: dict[str, float], factor: float) -> Phase:
    iops = value.get("IOPS", 0.0)
    block = test.block_bytes
    if "MB/s" not in value:
        return phase_of_throughput(test.operation, iops * (block or 0), iops, as_printed=value)
    # tiobench's MB are 2^20 bytes. fio's profile cuts the unit off; IOPS × request size tells which it was.
    unit = (
        MIB if test.profile.startswith("pts/tiobench") or not (iops and block) else _nearer(value["MB/s"], iops * block)
    )
    throughput = value["MB/s"] * unit / factor
    return phase_of_throughput(
        test.operation, throughput, iops or (throughput / block if block else 0.0), as_printed=value
    )


def _nearer(mb_s: float, bytes_per_s: float) -> int:
    return min((MB, MIB), key=lambda unit: abs(mb_s * unit / bytes_per_s - 1))


FORMAT = Format(
    "phoronix",
    "results of the Phoronix Test Suite, XML or CSV (pts/fio, pts/tiobench)",
    _recognises,
    _read,
    takes=("operation", "threads", "block"),
)
