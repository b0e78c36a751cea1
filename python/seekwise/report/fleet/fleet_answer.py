"""What a fleet says, in words and as a document: outliers and regressions first, then which settings win."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from seekwise.report.array_choice import WORDS
from seekwise.report.fleet.pooled import Pooled, pooled
from seekwise.report.fleet.rows import Summary, Unit
from seekwise.report.fleet.unlike import TWINS_LEAST, Change, Outlier, unlike
from seekwise.report.number_text import three

SCHEMA = "seekwise.fleet/1"
WIDTH = 79
SHOWN_MOST = 6
"""Sentences of a kind that are printed; all of them stand in the document."""
MANY = 2.0


@dataclass(frozen=True)
class Fleet:
    units: tuple[Unit, ...]
    trials: int
    pooled: tuple[Pooled, ...]
    outliers: tuple[Outlier, ...]
    changes: tuple[Change, ...]

    @property
    def hosts(self) -> int:
        return len({unit.host for unit in self.units})


def of(summary: Summary) -> Fleet:
    """Raises MissingError without statsmodels."""
    outliers, changes = unlike(summary)
    return Fleet(tuple(summary.units), summary.trials, tuple(pooled(summary)), tuple(outliers), tuple(changes))


def lines(fleet: Fleet) -> list[str]:
    """At most 25 lines for an ordinary fleet, the outliers first."""
    kinds: dict[tuple[str, str], int] = {}
    for unit in fleet.units:
        kinds[unit.kind] = kinds.get(unit.kind, 0) + 1
    found = _wrapped(
        f"{_count(fleet.hosts, 'host')}, {_count(len(fleet.units), 'device')} of {_count(len(kinds), 'kind')}, "
        f"{_count(fleet.trials, 'measured operation')}."
    )
    found.append("")
    few = [kind for kind, count in kinds.items() if count < TWINS_LEAST]
    if len(few) == len(kinds):
        found += _wrapped(
            f"Devices are not compared: that needs {TWINS_LEAST} of a kind, and there {_are(max(kinds.values(), default=0))} of a kind at most."
        )
    else:
        found += _listed([_outlier(each) for each in fleet.outliers] or ["No device is unlike its twins."], "devices")
        told = [_change(each) for each in fleet.changes] or ["No kernel or firmware makes a difference of 5 % or more."]
        found += _listed(told, "differences")
        if few:
            found += _wrapped(
                f"Not compared, since that needs {TWINS_LEAST} of a kind: {_count(sum(kinds[kind] for kind in few), 'device')} of {_count(len(few), 'other kind')}."
            )
    found.append("")
    clear = [each for each in fleet.pooled if each.word == "clear" and each.is_better]
    if clear:
        found += _listed([_pooled(each) for each in clear], "settings")
    else:
        found += _wrapped(
            "No setting is clearly better than the most common one."
            if fleet.pooled
            else "No two settings were measured on the same 3 hosts, so none are compared."
        )
    return found


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _are(number: int) -> str:
    return "is 1" if number == 1 else f"are {number}"


def _listed(sentences: list[str], what: str) -> list[str]:
    found = [line for each in sentences[:SHOWN_MOST] for line in _wrapped(each, "  ")]
    if len(sentences) > SHOWN_MOST:
        found.append(f"and {len(sentences) - SHOWN_MOST} more {what} (--json lists all)")
    return found


def _wrapped(text: str, then: str = "") -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent=then, break_on_hyphens=False)


def load_text(load: str) -> str:
    """`rand_read use=database` as `database (random read)`."""
    operation, _, rest = load.partition(" ")
    name = WORDS.get(operation, operation)
    words = [word.removeprefix("use=").replace("=", " ") for word in rest.split()]
    return f"{' '.join(dict.fromkeys(words))} ({name})" if words else name


def _unlike(ratio: float, metric: str) -> str:
    """`30 % slower`, `2.5 times the p99 latency`."""
    if metric == "rate":
        return f"{three(100 * (1 - ratio))} % slower" if ratio < 1 else _more(ratio, "faster")
    return f"{three(100 * (1 - ratio))} % less p99 latency" if ratio < 1 else _more(ratio, "more p99 latency")


def _more(ratio: float, word: str) -> str:
    return (
        f"{three(ratio)} times {'as fast' if word == 'faster' else 'the p99 latency'}"
        if ratio >= MANY
        else f"{three(100 * (ratio - 1))} % {word}"
    )


def _outlier(each: Outlier) -> str:
    more = f", and differs in {each.more} more figure{'' if each.more == 1 else 's'}" if each.more else ""
    return (
        f"{each.unit.host}'s {each.unit.device} has {_unlike(each.ratio, each.metric)} than its {each.twins} twins"
        if each.metric == "p99" and each.ratio < MANY
        else f"{each.unit.host}'s {each.unit.device} is {_unlike(each.ratio, each.metric)} "
        f"{'as' if each.ratio >= MANY else 'than'} its {each.twins} twins"
    ) + f" ({_kind(each.unit.kind)}) in {load_text(each.load)}{more}."


def _kind(kind: tuple[str, str]) -> str:
    model, level = kind
    return model if level == "single" else f"{level} × {model}"


def _change(each: Change) -> str:
    verb = "is" if each.metric == "rate" else "has"
    more = f"; also in {each.more} more figure{'' if each.more == 1 else 's'}" if each.more else ""
    together = f" It always comes with {each.together}, so either may be the cause." if each.together else ""
    low, high = sorted(abs(100 * (bound - 1)) for bound in (each.low, each.high))
    return (
        f"{each.part.capitalize()} {each.value} {verb} {_unlike(each.ratio, each.metric)} than {each.against} on {_kind(each.kind)} "
        f"in {load_text(each.load)} ({three(low)} to {three(high)} %, {each.units} devices{more}).{together}"
    )


def _pooled(each: Pooled) -> str:
    verb = "is" if each.metric == "rate" else "has"
    low, high = sorted(abs(100 * (bound - 1)) for bound in (each.low, each.high))
    return (
        f"{_kind(each.kind)}, {load_text(each.load)}: {each.setting} {verb} {_unlike(each.ratio, each.metric)} than {each.reference} "
        f"({three(low)} to {three(high)} %, {each.units} devices)."
    )


def document(fleet: Fleet) -> dict[str, object]:
    """What `--json` prints."""
    return {
        "schema": SCHEMA,
        "provenance": "measured",
        "hosts": fleet.hosts,
        "devices": len(fleet.units),
        "measured": fleet.trials,
        "outliers": [
            {
                "host": each.unit.host, "device": each.unit.device, "model": each.unit.model, "firmware": each.unit.firmware,
                "kernel": each.unit.kernel, "level": each.unit.level, "load": each.load, "metric": each.metric, "ratio": each.ratio,
                "twins": each.twins, "further": each.more, "is_worse": each.is_worse, "sentence": _outlier(each),
            }
            for each in fleet.outliers
        ],
        "changes": [
            {
                "part": each.part, "value": each.value, "against": each.against, "model": each.kind[0], "level": each.kind[1],
                "load": each.load, "metric": each.metric, "ratio": each.ratio, "ratio_low": each.low, "ratio_high": each.high,
                "devices": each.units, "together_with": each.together, "further": each.more, "is_worse": each.is_worse,
                "sentence": _change(each),
            }
            for each in fleet.changes
        ],
        "pooled": [
            {
                "model": each.kind[0], "level": each.kind[1], "load": each.load, "metric": each.metric, "setting": each.setting,
                "reference": each.reference, "devices": each.units, "ratio": each.ratio, "ratio_low": each.low, "ratio_high": each.high,
                "host_spread": each.host_spread, "word": each.word,
            }
            for each in fleet.pooled
        ],
    }  # fmt: skip
