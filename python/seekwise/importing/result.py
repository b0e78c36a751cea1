"""What every format yields: results, and the facts that a user adds to them."""

from __future__ import annotations

import codecs
import html
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from seekwise.bounds import JSON_VALUES
from seekwise.errors import UsageError
from seekwise.store.operations import OPERATIONS, Operation
from seekwise.store.record import CpuSeconds, Phase
from seekwise.workload.study.quantity import SIZE_FORM, parse_bytes

PAGE_CACHE = "page cache"
"""Of a load that went through it, a note says so in this word."""
MIB = 2**20
KIB = 2**10


RARE = 0.01


def is_rare(syncs: int, mean_ns: float, writes: int, elapsed_s: float) -> bool:
    """Whether syncs are so few and so short (a last one, one in 10,000 writes) that writes do not wait for them."""
    return 0 < syncs < RARE * writes and syncs * mean_ns / 1e9 < RARE * elapsed_s


def as_one(names: str) -> str:
    """Of jobs that cannot be told apart."""
    return (
        f"{names}: jobs of different loads were reported as one (`group_reporting`): request size and depth are those of none; "
        "without that option each is a load of its own"
    )


class ForeignError(UsageError):
    """A file is not what its tool writes, as a study or a trace that is none."""


COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
STAMP = re.compile(
    r"(?:\[?pod/\S{1,200}\s)?\d{4}-\d\d-\d\d[T ][\d:.,]{5,20}(?:Z|[+-]\d\d:?\d\d)?(?: std(?:out|err) [FP])?[ \t]|[A-Z][a-z]{2} [ \d]\d [\d:]{8} \S{1,80} \S{1,80}\[\d{1,9}\]: ?|[A-Z][a-z]{2} [ \d]\d [\d:]{8} |\[(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\][ \t]|[ \t]{0,8}\d{1,6}(?:\t|:)(?! *\d)"
)
SAME = re.compile(r"\[?pod/\S{1,200}\s|(?:[\w.-]{1,80}\s{1,40})?\|\s|# ")
OF_OUTPUT = re.compile(r"(?:\d\d:\d\d:\d\d(?:[.,]\d{1,9})?|#\d{1,4} \d{1,6}\.\d{1,9}) ")
"""What stands before fio's lines as before those of sar, which it is a part of: a time, or the step and the seconds of a container's build."""
WORDS = re.compile(r"(?:\[?[\w./@-]{1,80}\]?:? ){1,3}|\+")
"""What a log of several containers, or a patch, has before every line."""
CELL = re.compile(r"""^.{0,200}?[,;|\]"'`]\s?"?(?=[^\s,;|"'\]]{1,100}: \(g=\d{1,5}\): rw=)""", re.MULTILINE)
"""What stands before fio's first line where its output is a cell of a table or follows a mark of a forum."""
QUOTED = re.compile(r"^(?:>[ \t]?)+", re.MULTILINE)
"""Signs of quotation, which mails have before some lines only."""
MOST_LINES = 0.9
LONG = re.compile(r"(\s{200})\s+|([\d.]{400})[\d.]+")
"""Blanks and digits that no tool prints in a row are cut: patterns of the readers would try each of them as a
beginning."""


OPENS, CLOSES = (re.compile(rf"<{end}(?:pre|code|textarea)\b[^<>]{{0,2000}}>", re.IGNORECASE) for end in ("", "/"))
BREAK, TAG = re.compile(r"<br\s{0,9}/?>", re.IGNORECASE), re.compile(r"</?[a-zA-Z][^<>]{0,2000}>")


def _of_page(text: str) -> str:
    """The text that a web page shows: of its `<pre>` and `<code>` where it has some, without tags and entities (escaped twice by some wikis)."""
    shown = [CLOSES.split(part, maxsplit=1)[0] for part in OPENS.split(text)[1:]]
    if "<PhoronixTestSuite" in text or not (shown or BREAK.search(text) or "&quot;" in text):
        return text
    return (
        html.unescape(html.unescape(TAG.sub("", BREAK.sub("\n", "\n".join(shown) or text)))).replace("\xa0", " ") + "\n"
    )


def _without_log(text: str) -> str:
    """The text without what a log writes before every line: time and program (the journal, containers), a pod's or
    container's name."""
    lines = text.splitlines()
    first = next((line for line in lines if line.strip()), "")
    stamp = OF_OUTPUT if OF_OUTPUT.match(first) and "(groupid=" in text else STAMP
    if stamp.match(first):
        cut = [stamp.sub("", line, count=1) if stamp.match(line) else line for line in lines]
    elif match := SAME.match(first) or WORDS.match(_common(lines)):
        # A line without anything else loses the blank at its end.
        cut = [
            line.removeprefix(match[0]) if line.startswith(match[0]) else line.removeprefix(match[0].rstrip())
            for line in lines
        ]
    else:
        return text
    filled = [(line, new) for line, new in zip(lines, cut, strict=True) if line.strip()]
    changed = sum(line != new for line, new in filled)
    return "\n".join([*cut, ""]) if len(filled) > 1 and changed >= MOST_LINES * len(filled) else text


def _common(lines: list[str]) -> str:
    """What all of several lines begin with."""
    filled = [line for line in lines if line.strip()]
    return os.path.commonprefix(filled) if len(filled) > LEAST_LINES else ""


HOLDS_TEXT = re.compile(r"(?:^|=> )[ \t]{0,80}(?=[\[{])", re.MULTILINE)
OF_FIO = re.compile(r'(?<!\\)"fio version"')
NO_OUTPUT = frozenset({"cmd", "invocation", "ansible_facts"})
LEAST_LINES = 3
WITHIN = 6
"""Levels of a document around the text that it holds."""


def _unwrapped(text: str) -> str:
    """The output that a JSON document holds as text: what Ansible registers or shows, the log of a container."""
    start = HOLDS_TEXT.search(text)
    many = text.count(",") + text.count("{") + text.count("[") > JSON_VALUES
    if start is None or many or OF_FIO.search(text):
        return text
    decoder, found = json.JSONDecoder(), list[str]()
    try:
        while start is not None:
            document, end = decoder.raw_decode(text, start.end())
            found += _texts(document)
            start = HOLDS_TEXT.search(text, end)
    except (ValueError, RecursionError):
        pass  # no document, or one that is cut off: what stands before it counts
    whole = "".join(part if part.endswith("\n") else f"{part}\n" for part in found)
    return whole if whole.count("\n") >= LEAST_LINES else text


def _texts(document: object, levels: int = WITHIN) -> list[str]:
    """Texts of several lines; lines as a list are one text, which Ansible keeps beside the whole one."""
    if isinstance(document, str):
        return [document] if "\n" in document else []
    if isinstance(document, list) and len(document) >= LEAST_LINES and all(isinstance(line, str) for line in document):
        return ["\n".join(document)]
    inner = document if isinstance(document, list) else []
    if isinstance(document, dict):
        again = NO_OUTPUT | {f"{key}_lines" for key in document}
        inner = [value for key, value in document.items() if key not in again]
    return [text for part in inner for text in _texts(part, levels - 1)] if levels else []


@dataclass(frozen=True)
class Source:
    """One file as read. `text` has line ends as `\\n`; bytes that are no UTF-8 become replacement characters."""

    path: Path
    data: bytes

    @cached_property
    def text(self) -> str:
        """Decoded once, as UTF-8 unless a byte order mark says UTF-16 (PowerShell's `>`)."""
        wide = self.data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
        text = self.data.decode("utf-16" if wide else "utf-8-sig", errors="replace").replace("\r\n", "\n")
        # What was quoted, or had a colour or a time in between, may be a run by then.
        unquoted, of_cell = (lambda text: QUOTED.sub("", COLOUR.sub("", text))), (lambda text: CELL.sub("", text))
        for change in (_of_page, _unwrapped, unquoted, _without_log, of_cell):
            text = LONG.sub(lambda run: run[1] or run[2], change(text))
        return text

    @cached_property
    def lines(self) -> list[str]:
        """Without line ends."""
        return self.text.splitlines()

    def error(self, what: str, hint: str | None = None) -> ForeignError:
        """For the caller to raise; the message begins with the path (exit status 2)."""
        return ForeignError(f"{self.path}: {what}", hint)

    def number(self, text: str, what: str, *, least: float = 0.0) -> float:
        """The number that `text` is; an error names `what` if it is none, infinite, or below `least`."""
        try:
            value = float(text)
        except ValueError:
            raise self.error(f"{what} is {text.strip()[:40]!r}, not a number") from None
        if not least <= value < float("inf"):
            raise self.error(f"{what} is {text.strip()[:40]}, which is not possible")
        return value

    def whole(self, text: str, what: str, *, least: int = 0) -> int:
        """As `number`, for integers; `3.0` counts as 3. Raises ForeignError (exit status 2)."""
        value = self.number(text, what, least=least)
        if value != int(value):
            raise self.error(f"{what} is {text.strip()[:40]}, not a whole number")
        return int(value)


@dataclass(frozen=True)
class Result:
    """One trial as its tool reports it: operations that were measured under one configuration."""

    phases: tuple[Phase, ...]
    tool: str
    """The tool and its version, e.g. `fio-3.33`."""
    threads: int | None = None
    block_bytes: int | None = None
    iodepth: int | None = None
    setting: str | None = None
    """What the file itself calls the configuration, e.g. tiobench's identifier; `--setting` overrides it."""
    more: dict[str, str | int | float | bool] = field(default_factory=dict)
    """Further factors that tell loads apart, e.g. {"file_bytes": …}."""
    leads: str = ""
    """The figure that people ask this load for, where no column has it."""
    job: str = ""
    """What the file calls this load, where it holds several: fio's job name."""
    document: int = 0
    """Place of the run within its file, where runs were appended."""
    keeps_depth: bool = True
    """Whether requests follow each other without a pause. Not where a job waits for syncs or flushes at its end: then
    rate × latency is no depth."""
    spans_s: tuple[float, float] | None = None
    """When it began and ended, in seconds since 1970."""
    options: dict[str, object] = field(default_factory=dict)
    """Options of the tool, as far as the file has them."""
    seed: int = 0
    started_at: str = "unknown"
    environment: dict[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Sentences for the reader of the results: what was repaired, what the format lacks."""
    invalid_reason: str | None = None


@dataclass(frozen=True)
class Given:
    """Facts that the user adds with `--given KEY=VALUE`; None: not said."""

    threads: int | None = None
    block_bytes: int | None = None
    iodepth: int | None = None
    operation: Operation | None = None
    processors: int | None = None
    numruns: int | None = None
    random_operations: int | None = None
    tool_version: str | None = None

    @property
    def keys(self) -> list[str]:
        """The keys that were given, as they are typed after `--given`."""
        return [key for key, row in KEYS.items() if getattr(self, row.field) is not None]


def ms(ns: float) -> str:
    """Three digits with the unit that suits: `0.773 ms`, `30.6 s`."""
    return f"{ns / 1e9:.3g} s" if ns >= 1e9 else f"{ns / 1e6:.3g} ms"


def times(mean_ns: float, levels: dict[str, int], longest_ns: float) -> str:
    """The figures that people ask for of durable writes."""
    words = [f"mean {ms(mean_ns)}"]
    words += [f"p{level} {ms(levels[level])}" for level in ("50", "99", "99.9") if level in levels]
    return f"{', '.join(words)}, longest {ms(longest_ns)}"


HEADING_LONGEST = 60
HEADING_ABOVE = 12
"""Lines between a heading and its table, preambles left out."""
DECOR = re.compile(r"[\s\-=*_#~`+|.]*")
SWITCH = re.compile(r"\becho\s+[\"']?([\w-]+)[\"']?\s*(?:>|\|\s*(?:sudo\s+)?tee\s)\s*/sys/block/[^/\s]+/\w+/(\w+)")
"""A shell's line that changes a setting between two runs."""
COMMAND = re.compile(r"[@|]|\./|\s--?\w|\$ ")


def headings(lines: Sequence[str], starts: Sequence[int], passed_over: re.Pattern[str] | None = None) -> list[str]:
    """What was switched before each of several tables of one text, or what stands above it, as the name of a set-up; none
    of them where one has none or two are alike."""
    written = [(number, match) for number, line in enumerate(lines) if (match := SWITCH.search(line))]
    switched = [{match[2]: match[1] for number, match in written if number < start} for start in starts]
    if any(one != switched[0] for one in switched):
        return [", ".join(f"{name} {value}" for name, value in one.items()) or "before" for one in switched]
    titles = []
    for place, start in enumerate(starts):
        above = range(start - 1, max(-1, start - HEADING_ABOVE, starts[place - 1] if place else -1), -1)
        near = (lines[number] for number in above)
        line = next(
            (text for text in near if not DECOR.fullmatch(text) and not (passed_over and passed_over.match(text))), ""
        )
        title = line.strip().strip("#*=- ").removesuffix(":").strip()
        fits = (
            len(title) <= HEADING_LONGEST
            and any(character.isalpha() for character in title)
            and not COMMAND.search(line)
        )
        titles.append(title if fits else "")
    return titles if all(titles) and len(set(titles)) == len(titles) > 1 else [""] * len(titles)


def tool_text(name: str, version: str | None) -> str:
    """`fio-3.33`, `sysbench, version unknown`."""
    return f"{name}-{version}" if version else f"{name}, version unknown"


@dataclass(frozen=True)
class Key:
    field: str
    meaning: str
    convert: Callable[[str], Any]


def _count(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 10**9:
        raise ValueError("must be a whole number from 1 on")
    return int(text)


def _size(text: str) -> int:
    value = parse_bytes(text)
    if value <= 0:
        raise ValueError(f"must be {SIZE_FORM}")
    return value


def _operation(text: str) -> Operation:
    for operation in OPERATIONS:
        if operation == text:
            return operation
    raise ValueError(f"must be one of {', '.join(OPERATIONS)}")


def _version(text: str) -> str:
    if not text[:1].isdigit():
        raise ValueError("must be a version such as 0.3.3")
    return text


KEYS = {
    "threads": Key("threads", "threads (jobs) that ran together", _count),
    "block": Key("block_bytes", "size of one request, e.g. 4k", _size),
    "iodepth": Key("iodepth", "requests in flight per thread", _count),
    "operation": Key("operation", f"what was done: {', '.join(OPERATIONS)}", _operation),
    "processors": Key("processors", "CPUs of the machine that was measured", _count),
    "numruns": Key("numruns", "`--numruns` of tiobench.pl", _count),
    "random-operations": Key("random_operations", "random operations per thread (tiotest -r)", _count),
    "tool-version": Key("tool_version", "version of the tool, e.g. 0.3.3 of tiotest", _version),
}


def parse_given(words: Sequence[str]) -> Given:
    """`("threads=8", …)` as facts; a wrong key or value is an error that names it."""
    given: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or key not in KEYS:
            raise UsageError(f"`--given {word}` is not KEY=VALUE with a known key", hint=f"keys: {', '.join(KEYS)}")
        try:
            given[KEYS[key].field] = KEYS[key].convert(value)
        except ValueError as error:
            raise UsageError(f"`--given {key}={value}`: {error}", hint=KEYS[key].meaning) from error
    return Given(**given)


@dataclass(frozen=True)
class Format:
    """One row of the registry."""

    name: str
    title: str
    recognises: Callable[[Source], bool]
    read: Callable[[list[Source], Given], list[Result]]
    """Results of files that belong together, in the order of the file."""
    group: Callable[[Source], str] | None = None
    """Files with the same key belong together (fio writes several logs per run); None: every file stands alone."""
    takes: tuple[str, ...] = ()
    """Keys of `--given` that this format uses."""


@dataclass(frozen=True)
class Latency:
    """Access times as a tool prints them; `bins` and `percentiles_ns` as of `Phase`."""

    mean_ns: float = 0.0
    max_ns: float = 0.0
    bins: Mapping[int, int] = field(default_factory=dict)
    percentiles_ns: dict[str, int] = field(default_factory=dict)


UNKNOWN_LATENCY = Latency()
NO_CPU_TIME = CpuSeconds(0.0, 0.0)


def phase(
    operation: str,
    *,
    elapsed_s: float,
    total_bytes: float,
    ios: float,
    latency: Latency = UNKNOWN_LATENCY,
    cpu: CpuSeconds = NO_CPU_TIME,
    **details: object,
) -> Phase:
    """A phase of a foreign result: whole bytes and requests, 0 for what is not known."""
    return Phase(
        operation=operation,
        elapsed_s=elapsed_s,
        bytes=round(total_bytes),
        ios=round(ios),
        latency_bins=dict(sorted(latency.bins.items())),
        latency_mean_ns=latency.mean_ns,
        latency_max_ns=round(latency.max_ns),
        cpu=cpu,
        details=details,
        reported_percentiles_ns=latency.percentiles_ns,
    )


def phase_of_throughput(operation: Operation, bytes_per_s: float, iops: float, as_printed: object) -> Phase:
    """A phase of a tool that prints rates without the time they were taken over: one second of that rate."""
    return phase(
        operation,
        elapsed_s=1.0,
        total_bytes=bytes_per_s,
        ios=iops,
        duration="unknown; rates are per second",
        as_printed=as_printed,
    )
