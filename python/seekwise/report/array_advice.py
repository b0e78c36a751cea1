"""Which array of a study to build, in words: what it survives, what each other one offers, what a failure costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from seekwise.judge.array_choice import ArrayChoice, choose, rate_ratio, speeds
from seekwise.judge.arrays import ArrayRow, by_load, load_conditions, long_text, with_states
from seekwise.number_text import listed, three
from seekwise.report.answered import WITHIN_MODEL
from seekwise.report.content import Advice
from seekwise.report.metric_words import speed_text
from seekwise.store import operations
from seekwise.store.record import Record
from seekwise.workload.study.quantity import counted, time_text


def advice(records: Sequence[Record], cautions: tuple[str, ...] = ()) -> Advice | None:
    """The array to build; None where arrays do not compete in capacity or safety."""
    choice = choose(records)
    if choice is None:
        return None
    chosen = choice.array
    safe = [row for row in choice.arrays if row.survives_failures > 0] or choice.arrays
    most = "the fastest" + (" over all loads" if len(chosen.combination_throughputs) > 1 else "")
    why = f"{most} of {'those that survive one' if choice.unsafe and len(safe) > 1 else 'these'}"
    if choice.unsafe and len(safe) == 1:
        why = "the only one here that survives a drive failure"
    if all(row.survives_failures == 0 for row in choice.arrays):
        why = f"{most} of these, but no array here survives a drive failure"
    # Under several loads the table has them.
    rates = f" ({rates_text(chosen)})" if len(by_load(choice.arrays)) < 2 else ""
    headline = (
        f"{chosen.name}: {_safety(chosen)}, {chosen.capacity_text} usable, {why}{rates}.{_by_load_text(choice, safe)}"
    )
    if choice.as_fast:
        headline += "".join(_as_fast(choice))
    states = with_states(records)
    chosen = next((row for row in states if row.name == chosen.name), chosen)
    reasons = [exposure(chosen)] if chosen.rebuild_s is not None else []
    reasons += _states(chosen, states, choice.error)
    reasons += [
        _compared_with(row, chosen, choice.error)
        for row in choice.arrays
        if row.name != chosen.name and row.survives_failures > 0
    ]
    reasons += [_refused(row, chosen, choice.error) for row in choice.unsafe if row.name != chosen.name]
    return Advice(headline, tuple(reasons), caution=cautions, recommended=choice.settings)


def _by_load_text(choice: ArrayChoice, safe: Sequence[ArrayRow]) -> str:
    """Which load the choice rests on, and which one another array serves better; empty where one load is all there
    is."""
    chosen = choice.array
    loads = list(chosen.combination_throughputs)
    others = [row for row in safe if row is not chosen and row not in choice.as_fast]
    if len(loads) < 2 or not others:
        return ""
    speed = speeds(choice.arrays)
    second = max(others, key=lambda row: speed[row.name])
    gain, load = max((rate_ratio(chosen, second, load, choice.error), load) for load in loads)
    parts = {second.name: [f"{_load_text(load)} {speed_text(gain)}"] if gain > 1 else []}
    loss, load, name = min(
        (rate_ratio(chosen, row, load, choice.error), load, row.name) for row in others for load in loads
    )
    if loss < 1:
        parts.setdefault(name, []).append(f"{_load_text(load)} {speed_text(loss)}")
    texts = [f"against {name.partition(',')[0]} {', '.join(said)}" for name, said in parts.items() if said]
    return f" A{'; '.join(texts)[1:]}." if texts else ""


def _short(row: ArrayRow) -> str:
    return row.name.partition(",")[0]


def _as_fast(choice: ArrayChoice) -> Iterator[str]:
    """What is as fast over everything, and where it is not: the load that gains most by it, and the one that loses
    most."""
    extremes = {row.name: _extremes(row, choice.array, choice.error) for row in choice.as_fast}
    if names := [name for name, text in extremes.items() if not text]:
        yield f" {listed(names)} {'is' if len(names) == 1 else 'are'} as fast {WITHIN_MODEL}."
    for name, text in extremes.items():
        if text:
            yield f" {name} is as fast over all loads together, {WITHIN_MODEL}: {text}."


def _extremes(row: ArrayRow, chosen: ArrayRow, error: float) -> str:
    ratios = {load: rate_ratio(row, chosen, load, error) for load in row.combination_throughputs}
    best, worst = max(ratios, key=ratios.__getitem__), min(ratios, key=ratios.__getitem__)
    named = [best] * (ratios[best] > 1) + [worst] * (ratios[worst] < 1)
    return ", ".join(f"{_load_text(load)} {speed_text(ratios[load])}" for load in named)


def _load_text(load: str) -> str:
    """`sequential read with 4 threads` of `seq_read … threads=4 …`."""
    operation, threads = load.partition(" ")[0], threads_words(load)
    return f"{operations.name(operation).lower()}{f' with {threads}' if threads else ''}"


def threads_words(load: str) -> str:
    """`4 threads` of a key of `combination_throughputs`; empty where it names none."""
    threads = load_conditions(load).get("threads", "")
    return counted(int(threads), "thread") if threads.isdigit() else ""


def _states(chosen: ArrayRow, arrays: Sequence[ArrayRow], error: float) -> list[str]:
    """How much slower the chosen array is with a drive failed and while that is rebuilt; how long that takes under
    load."""
    said = []
    for row in arrays:
        if row.whole != chosen.name:
            continue
        changes = [
            f"{_load_text(_load_of(row, name))} {speed_text(throughput / chosen.rates_mb_s[name])}"
            for name, throughput in row.rates_mb_s.items()
            if throughput > 0 and chosen.rates_mb_s.get(name, 0) * (1 - error) > throughput
        ]
        state = (
            "While it is rebuilt"
            if row.is_rebuilding
            else "With a failed drive"
            if row.survives_failures < chosen.survives_failures
            else row.name
        )
        said.append(f"{state}: {', '.join(changes) or 'as fast'}")
    if len(said) == 2:
        said = [f"{said[0]}. {said[1]}"]
    if said or any(row.is_degraded for row in arrays):
        return said
    return ["Speed with a failed drive was not simulated; `missing = [0, 1]` under [settings] adds it"]


def _load_of(row: ArrayRow, operation: str) -> str:
    """Key of the load that gave an operation's rate."""
    return f"{operation} {row.best[operation][1]}" if operation in row.best else operation


def _safety(row: ArrayRow) -> str:
    return f"survives {row.failures_text}"


def rates_text(row: ArrayRow) -> str:
    """`sequential read 570 MB/s, random write 9.9 MB/s`."""
    return ", ".join(
        f"{operations.name(name).lower()} {three(throughput)} MB/s" for name, throughput in row.rates_mb_s.items()
    )


def _compared_with(row: ArrayRow, chosen: ArrayRow, error: float) -> str:
    """What another array offers, and what it costs."""
    parts = [f"{row.name}: {_safety(row)}, {row.capacity_text}"]
    ratios = {load: rate_ratio(row, chosen, load, error) for load in row.combination_throughputs}
    faster, slower = ([load for load in ratios if sign * (ratios[load] - 1) > 0] for sign in (1, -1))
    for loads in (faster, slower):
        parts.append(", ".join(f"{_load_text(load)} {speed_text(ratios[load])}" for load in loads))
    return "; ".join(filter(None, parts))


def _refused(row: ArrayRow, chosen: ArrayRow, error: float) -> str:
    return f"{_compared_with(row, chosen, error)}. Not recommended: one failed drive loses all data"


def exposure(row: ArrayRow) -> str:
    """How long a rebuild takes and what the array survives meanwhile."""
    left = row.survives_failures - 1
    during = "it survives no further failure" if left <= 0 else f"it still survives {left} more"
    if row.rebuild_s is None:
        return ""
    loaded = (
        f"{long_text(row.rebuild_loaded_s)} with database transactions" if row.rebuild_loaded_s else "longer under load"
    )
    return f"{_short(row)}: rebuilding one drive takes {time_text(row.rebuild_s)} alone, {loaded}; until then {during}"
