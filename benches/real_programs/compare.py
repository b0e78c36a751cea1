"""What `tune` stated, held against what the programs did.

Both are ratios to the setting that the use names as its best, on the log scale, above 0 where a setting is worse; so the choice of a best among
noisy figures weighs on the statement alone. A statement is contradicted where the two intervals lie further apart than the threshold. It is
also said where a stated loss is more than twice the real one (a real loss below the threshold counts as the threshold).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    """One statement about one setting. Ratios are logs, above 0 where worse; an end of None is unbounded."""

    case: str
    use: str
    metric: str
    kind: str
    setting: str
    best: str
    verdict: str
    threshold: float
    stated: float
    stated_low: float
    stated_high: float | None
    real: float
    real_low: float
    real_high: float

    @property
    def contradicted(self) -> bool:
        above = self.stated_low > self.real_high + self.threshold
        return above or (self.stated_high is not None and self.stated_high < self.real_low - self.threshold)

    @property
    def overstated(self) -> bool:
        return self.verdict == "worse" and self.stated > 2 * max(self.real, self.threshold)


def log_of(share: float, kind: str) -> float:
    """A loss of tune's as a log: 0.5 is half the work done, or 1.5 times the time. `kind`: the program's figure."""
    if kind in MORE_IS_BETTER:
        return -math.log1p(-min(share, 1 - 1e-9))
    return math.log1p(max(share, -1 + 1e-9))


def share_of(log: float, kind: str) -> float:
    return -math.expm1(-log) if kind in MORE_IS_BETTER else math.expm1(log)


def lines(results: dict, stated: dict) -> list[Line]:
    """Every statement of one `tune --json` for which a program was measured."""
    found = []
    for (program, mode), wanted in NEAREST.items():
        case = f"{program}, {mode}"
        rounds = results["cases"].get(case, {}).get("rounds", [])
        for use, metric, figure in wanted:
            for entry in stated["uses"]:
                if (entry["use"], entry["metric"]) == (use, metric) and len(rounds) > 2:
                    found += _of_entry(case, rounds, entry, figure)
    return found


def _of_entry(case: str, rounds: Sequence[dict], entry: dict, kind: str) -> list[Line]:
    best = next((each["setting"] for each in entry["candidates"] if each["verdict"] == "best"), None)
    if best is None:
        best = min((each for each in entry["candidates"] if each["loss"] is not None), key=lambda each: each["loss"],
                   default={"setting": None})["setting"]  # fmt: skip
    found = []
    for each in entry["candidates"]:
        setting = each["setting"]
        if setting == best or each["loss"] is None:
            continue
        logs = log_ratios(rounds, kind, setting, best)
        if len(logs) < 3:
            continue
        real, low, high = interval(logs)
        found.append(
            Line(
                case, entry["use"], entry["metric"], kind, setting, best, each["verdict"],
                log_of(entry["threshold"], kind), log_of(each["loss"], kind), log_of(each["low"] or 0.0, kind),
                None if each["high"] is None else log_of(each["high"], kind), real, low, high,
            )
        )  # fmt: skip
    return found
