"""From records to the winner table in the articles' shape."""

from __future__ import annotations

import numpy as np

from seekwise.judge import judge
from seekwise.judge.observe import observations, values
from seekwise.judge.tables import winner_tables
from seekwise.store.record import CpuSeconds, Phase, Record


def phase(operation: str, throughput: float, *, ios: int = 4000, cpu_s: float = 0.1) -> Phase:
    return Phase(
        operation=operation,  # type: ignore[arg-type]
        elapsed_s=1.0,
        bytes=round(throughput),
        ios=ios,
        latency_bins={1000: ios - 30, 9000: 30},
        latency_mean_ns=1e15 / throughput,
        latency_max_ns=9000,
        cpu=CpuSeconds(submitter_user=0.0, submitter_system=cpu_s),
    )


def record(setting: str, repetition: int, threads: int, phases: tuple[Phase, ...], *, valid: bool = True) -> Record:
    return Record(
        run_id="r1",
        trial=0,
        repetition=repetition,
        combination=f"disk=vda threads={threads}",
        setting=setting,
        factors={"scheduler": setting, "threads": threads},
        provenance="simulated",
        seed=1,
        started_at="2026-01-01T00:00:00Z",
        phases=phases,
        valid=valid,
    )


def run(rng: np.random.Generator, effects: dict[str, float], repetitions: int = 5) -> list[Record]:
    return [
        record(
            name,
            repetition,
            threads,
            (
                phase("seq_read", 1e8 * float(np.exp(effect + rng.normal(0, 0.005)))),
                phase("rand_read", 1e6 * float(np.exp(rng.normal(0, 0.002)))),
            ),
        )
        for repetition in range(repetitions)
        for threads in (1, 8)
        for name, effect in effects.items()
    ]


def test_winner_table_has_a_row_per_operation_and_the_articles_columns() -> None:
    (table,) = winner_tables(judge(observations(run(np.random.default_rng(1), {"deadline": 0.2, "cfq": 0.0}))))
    rows = {row.operation: row for row in table if "threads" not in row.conditions}
    assert {name: row.conditions for name, row in rows.items()} == dict.fromkeys(
        ("seq_read", "rand_read"), {"disk": "vda"}
    )
    assert {metric: cell.candidates.text for metric, cell in rows["seq_read"].cells.items()} == dict.fromkeys(
        ("rate", "access_time", "cpu_efficiency"), "deadline"
    )
    assert rows["rand_read"].cells["rate"].candidates.text == "="
    margin = rows["seq_read"].cells["rate"].margin
    assert margin is not None and margin[1] < np.exp(0.2) < margin[2]


def test_single_thread_counts_are_rows_of_their_own() -> None:
    verdicts = judge(observations(run(np.random.default_rng(1), {"deadline": 0.2, "cfq": 0.0})))
    (table,) = winner_tables(verdicts)
    conditions = [row.conditions for row in table if row.operation == "seq_read"]
    assert sorted(conditions, key=len) == [
        {"disk": "vda"},
        {"disk": "vda", "threads": "1"},
        {"disk": "vda", "threads": "8"},
    ]


def test_too_few_repetitions_print_a_question_mark() -> None:
    (table,) = winner_tables(
        judge(observations(run(np.random.default_rng(1), {"deadline": 0.2, "cfq": 0.0}, repetitions=2)))
    )
    assert {cell.candidates.text for row in table for cell in row.cells.values()} == {"not measured long enough"}


def test_invalid_trials_are_not_observed() -> None:
    good = record("a", 0, 1, (phase("seq_read", 1e8),))
    bad = record("b", 0, 1, (phase("seq_read", 1e8),), valid=False)
    assert {o.setting for o in observations([good, bad])} == {"a"}


def test_what_a_trial_cannot_say_is_absent() -> None:
    assert "p99" not in values(phase("seq_read", 1e8, ios=1999))
    assert values(phase("seq_read", 1e8, ios=2000))["p99"] == 9000.0
    assert "cpu_efficiency" not in values(phase("seq_read", 1e8, cpu_s=0.0))


def test_cpu_efficiency_is_megabytes_per_system_cpu_second() -> None:
    # 100 MB in one second, 0.25 s of system CPU: 400 MB per CPU second, however many threads shared them.
    assert values(phase("seq_read", 1e8, cpu_s=0.25))["cpu_efficiency"] == 400.0
