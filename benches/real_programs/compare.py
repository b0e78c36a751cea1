"""What `tune` stated, held against what the programs did.

Statements are ratios to the setting in force, on the log scale here, above 0 where a setting is worse. One is contradicted where its interval and the real
one lie further apart than the threshold, and overstated where a named difference is more than twice the real one (a real one below the threshold counts
as the threshold). The advice for a purpose is held against every program of that kind, not only those with a nearest use: what is lost by following it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from real_programs.rounds import ALONE, COPYING, MORE_IS_BETTER, READING, interval, log_ratios

COPY = "copy_mb_per_s"
NEAREST: dict[tuple[str, str], tuple[tuple[str, str, str], ...]] = {
    # (program, mode): (use, its metric as `tune --json` names it, figure of the program)
    ("pgbench", ALONE): (("database", "done", "done"), ("database", "tail", "tail")),
    # Larger than their buffers: what they wait for are rows that are not in memory.
    ("sysbench", ALONE): (
        ("database-queries", "done", "done"),
        ("mariadb", "done", "done"),
        ("mariadb", "tail", "tail"),
    ),
    ("rocksdb", ALONE): (("database-queries", "done", "done"), ("database-queries", "tail", "tail")),
    ("nginx", ALONE): (("web-server", "done", "done"), ("web-server", "tail", "tail")),
    ("git", ALONE): (("build", "unpack_time", "time"),),
    ("dpkg", ALONE): (("build", "unpack_time", "time"),),
    ("compile", ALONE): (("build", "time", "time"),),
    ("rsync", ALONE): (("file-server", "store_done", "done"),),
    ("wc", ALONE): (("streams", "done", "done"),),
    ("pgbench", COPYING): (("database-backup", "time", "time"), ("database-backup", "tail", "tail")),
    ("sysbench", COPYING): (("database-backup", "time", "time"), ("database-backup", "tail", "tail")),
    ("rocksdb", COPYING): (("database-backup", "time", "time"),),
    ("nginx", COPYING): (("desktop-search", "time", "time"), ("desktop-search", "background_done", COPY)),
    ("libreoffice", COPYING): (("desktop-copy", "time", "time"), ("desktop-copy", "background_done", COPY)),
    ("libreoffice", READING): (("desktop-read", "time", "time"), ("desktop-read", "background_done", COPY)),
    ("git", COPYING): (("desktop-copy", "time", "time"),),
    ("compile", COPYING): (("desktop-copy", "time", "time"), ("desktop-copy", "background_done", COPY)),
}


@dataclass(frozen=True)
class Line:
    """One statement about one setting. Ratios are logs, above 0 where worse."""

    case: str
    use: str
    metric: str
    kind: str
    setting: str
    base: str
    verdict: str
    threshold: float
    stated: float
    stated_low: float
    stated_high: float
    real: float
    real_low: float
    real_high: float

    @property
    def is_useful(self) -> bool:
        """A difference is named, or bounded."""
        return self.verdict != "unknown"

    @property
    def contradicted(self) -> bool:
        """Its interval and the real one lie further apart than the threshold."""
        above = self.stated_low > self.real_high + self.threshold
        return above or self.stated_high < self.real_low - self.threshold

    @property
    def overstated(self) -> bool:
        """A named difference that is more than twice the real one."""
        real = max(self.real if self.stated > 0 else -self.real, self.threshold)
        return self.verdict in ("better", "worse") and abs(self.stated) > 2 * real


KINDS = {
    "status": "command", "log": "command", "checksums": "command", "archive": "command", "inserts": "save", "saves": "save",
    "libreoffice": "start", "git": "search", "dpkg": "search", "compile": "search", "import": "commit", "rsync": "read-write",
    "lookups": "command", "gzip": "command", "zip": "command", "diff": "search", "commit": "save", "mails": "save", "events": "save", "mirror": "read-write",
    "cmp": "stream", "wc": "stream", "pgbench": "server", "sysbench": "server", "rocksdb": "server", "nginx": "server",
}  # fmt: skip
"""{program: the kind whose next program it is}."""
HELD_OUT = frozenset({"lookups", "gzip", "zip", "diff", "commit", "mails", "events", "mirror", "cmp"})
"""Programs that no spread in `judge/decision/kinds.toml` was set from, nor from a relative: only they are reported as an account."""
BACKGROUNDS = {ALONE: "", COPYING: "copy", READING: "4 readers"}


@dataclass(frozen=True)
class Foretold:
    """A program held against what was said of the next one of its kind. Ratios are logs, above 0 where worse."""

    case: str
    kind: str
    setting: str
    word: str
    low: float
    high: float
    real: float
    real_low: float
    real_high: float

    @property
    def is_inside(self) -> bool:
        """Of nine of ten programs this one."""
        return self.low <= self.real <= self.high

    @property
    def is_surely_outside(self) -> bool:
        """As far as its rounds know it (95 %)."""
        return self.real_high < self.low or self.real_low > self.high

    @property
    def is_far_off(self) -> bool:
        """Beyond the range by more than a tenth."""
        return not self.low - FAR_LOG <= self.real <= self.high + FAR_LOG


FAR_LOG = math.log(1.1)


def foretold(results: dict, stated: dict, main: Mapping[str, str]) -> list[Foretold]:
    """Every program, mode and setting of which one `tune --json` foretells something."""
    found = []
    for case, measured in results["cases"].items():
        program, mode = case.split(", ", 1)
        for entry in stated["uses"]:
            about = (entry.get("kind"), entry.get("background"))
            if about != (KINDS.get(program), BACKGROUNDS[mode]) or len(measured["rounds"]) < 3:
                continue
            for each in entry["candidates"]:
                told = each.get("next")
                logs = log_ratios(measured["rounds"], main[program], each["setting"], stated["in_force"])
                if told is None or len(logs) < 2:
                    continue
                of_value = "time" if entry["value_unit"] == "ms" else "done"
                low, high = sorted(log_of(told[end], of_value) for end in ("low", "high"))
                found.append(Foretold(case, KINDS[program], each["setting"], told["word"], low, high, *interval(logs)))
    return found


@dataclass(frozen=True)
class AdviceLine:
    """The setting that was advised for a purpose, in one program of that kind: what it loses against the best one there (ln, interval of 95 %)."""

    case: str
    purpose: str
    setting: str
    best: str
    lost: float
    low: float
    high: float

    @property
    def is_good(self) -> bool:
        """The best setting, or within 5 % of it."""
        return self.lost <= GOOD_LOG


GOOD_LOG = math.log1p(0.05)
PURPOSE = {ALONE: "throughput", COPYING: "responsive", READING: "responsive"}
"""What a program alone, and one beside a background, is asked for."""


def log_of(ratio: float, kind: str) -> float:
    """ln of a ratio of values, above 0 where it is worse: half the work done, or twice the time. `kind`: the program's figure."""
    return -math.log(ratio) if kind in MORE_IS_BETTER else math.log(ratio)


def ratio_of(log: float, kind: str) -> float:
    """The inverse of `log_of`."""
    return math.exp(-log) if kind in MORE_IS_BETTER else math.exp(log)


def lines(results: dict, stated: dict) -> list[Line]:
    """Every statement of one `tune --json` for which a program was measured."""
    found = []
    for (program, mode), wanted in NEAREST.items():
        case = f"{program}, {mode}"
        rounds = results["cases"].get(case, {}).get("rounds", [])
        for use, metric, figure in wanted:
            for entry in stated["uses"]:
                if (entry["use"], entry["metric"]) == (use, metric) and len(rounds) > 2:
                    found += _of_entry(case, rounds, entry, figure, stated["in_force"])
    return found


def _of_entry(case: str, rounds: Sequence[dict], entry: dict, kind: str, base: str) -> list[Line]:
    found = []
    for each in entry["candidates"]:
        if each["setting"] == base or each["ratio"] is None:
            continue
        logs = log_ratios(rounds, kind, each["setting"], base)
        if len(logs) < 3:
            continue
        low, high = sorted(log_of(each[end], kind) for end in ("low", "high"))
        found.append(
            Line(
                case, entry["use"], entry["metric"], kind, each["setting"], base, each["verdict"],
                math.log1p(entry["threshold"]), log_of(each["ratio"], kind), low, high, *interval(logs),
            )
        )  # fmt: skip
    return found


def advice(results: dict, stated: dict, main: Mapping[str, str]) -> list[AdviceLine]:
    """What the advice for each purpose loses in every program that was measured. `main`: figure of each program that its user waits for."""
    wanted = {each["purpose"]: each["setting"] for each in stated["purposes"]}
    found = []
    for case, measured in results["cases"].items():
        program, mode = case.split(", ", 1)
        setting, rounds = wanted.get(PURPOSE[mode]), measured["rounds"]
        names = sorted({name for each in rounds for name in each["values"]})
        if setting not in names or len(rounds) < 3:
            continue
        figure = main[program]
        means = {name: interval(logs) for name in names if len(logs := log_ratios(rounds, figure, setting, name)) > 1}
        best = max(means, key=lambda name: means[name][0])
        found.append(AdviceLine(case, PURPOSE[mode], str(setting), best, *means[best]))
    return found
