"""`compare` in words: one unit for a ratio and its interval, and what two short runs cannot exclude."""

from types import SimpleNamespace

import pytest

from seekwise.report.comparison import ChangeRow, Pairing, lines


def row(
    ratio: float,
    low: float,
    high: float,
    verdict: str,
    where: str = "database",
    setting: str = "bfq",
    metric: str = "time per transaction",
) -> ChangeRow:
    return ChangeRow(where, setting, metric, False, ratio, low, high, verdict, "141 ms", "145 ms")


@pytest.mark.parametrize(
    ("ratio", "low", "high", "verdict", "said"),
    [
        (1.12, 1.09, 1.15, "worse", "+12 % (+9 to +15 %)"),
        (2.0, 1.072, 3.8, "worse", "2 times (1.1 to 3.8)"),
        (0.4, 0.3, 0.55, "better", "0.4 times (0.3 to 0.55)"),
        (1.0, 0.8, 1.3, "unknown", "\N{MINUS SIGN}20 to +30 %"),
        (1.2, 0.4, 3.0, "unknown", "0.4 to 3 times"),
        (float("nan"), 0.0, 0.0, "unknown", "not measured long enough"),
    ],
)
def test_a_ratio_and_its_interval_have_one_unit(ratio, low, high, verdict, said):
    assert row(ratio, low, high, verdict).span == said


def pairing(*rows: ChangeRow) -> Pairing:
    base, new = (SimpleNamespace(given_name=name, run_id=name) for name in ("before", "after"))
    return Pairing(base, new, tuple(rows))


def test_where_nothing_is_shown_the_ranges_are():
    shown = lines(pairing(row(1.0, 0.8, 1.3, "unknown"), row(1.0, 0.99, 1.02, "same", setting="none")))
    text = " ".join(" ".join(shown).split())
    assert text.startswith(
        "after against before: no difference shown; 1 of 2 figures are the same within the threshold; 1 was not measured"
    )
    assert "database, time per transaction, bfq 141 ms 145 ms \N{MINUS SIGN}20 to +30 %" in text
    assert "No difference worth naming: 1 figure (--all)." in text


def test_values_are_never_wrapped():
    many = [
        row(1.2, 1.1, 1.3, "worse", where="database-queries-of-a-long-name", setting=f"mq-deadline, {n}")
        for n in range(9)
    ]
    shown = lines(pairing(*many))
    assert all(len(line) <= 80 for line in shown)
    assert sum("141 ms  145 ms  +20 % (+10 to +30 %)" in line for line in shown) >= 5


def test_what_all_rows_are_of_stands_once_below_them():
    where = "random read, 2 threads, 4 KiB"
    shown = lines(pairing(*(row(1.0, 0.8, 1.3, "unknown", where=where, metric=each) for each in ("throughput", "p99 latency"))))  # fmt: skip
    assert shown[-1] == "Each: 2 threads, 4 KiB."
    assert sum("2 threads" in line for line in shown) == 1 and max(map(len, shown)) <= 80
    assert any(line.startswith("random read, p99 latency ") for line in shown)
