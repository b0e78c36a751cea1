"""These tests will hold the picture of losses and its words to hand-computed runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from report.sample import sample_content, sample_records
from seekwise.report import losses
from seekwise.report.content import Advice
from seekwise.report.looks import Looks
from seekwise.report.page import render


def content(speeds: dict[str, float], tails: dict[str, float] | None = None, noise: float = 0.001):
    """Random reads at these rates; `tails`: factor on all latencies."""
    first = next(r for r in sample_records(repetitions=1, threads=(1,)))
    records = []
    for setting, speed in speeds.items():
        for repetition in range(5):
            wobble = 1 + noise * (sum(map(ord, setting)) * (repetition + 3) % 7 - 3)
            ios = int(20_000 * speed * wobble)
            tail = (tails or {}).get(setting, 1.0)
            bins = {int(1e6 * tail * wobble): int(ios * 0.95), int(4e6 * tail * wobble): ios - int(ios * 0.95)}
            phase = replace(first.phases[2], bytes=ios * 4096, ios=ios, latency_bins=bins, latency_mean_ns=1e6 / speed)
            records.append(
                replace(
                    first,
                    setting=setting,
                    repetition=repetition,
                    phases=(phase,),
                    factors={"scheduler": setting, "threads": 1},
                )
            )
    return replace(sample_content(), records=records, advice=Advice("x", recommended=("cfq",)))  # fmt: skip


def rows(found):
    return {row.look.label: row for row in found.rows}


def test_a_loss_is_told_as_a_share_and_from_twice_on_as_times():
    (block,) = losses.blocks(content({"deadline": 1.0, "cfq": 0.8, "noop": 0.25, "bfq": 0.999}), Looks())
    shown = rows(block)
    assert (block.place, block.metric, block.first) == ("Random read", "throughput", "deadline")
    assert shown["deadline"].words == "fastest" and shown["deadline"].factor == 1.0
    assert shown["cfq"].words == "20 % slower" and shown["cfq"].factor == pytest.approx(1.25, rel=0.01)
    assert shown["noop"].words == "4 times slower"
    assert shown["bfq"].words == "within 3 %"
    assert shown["cfq"].chosen and not shown["noop"].chosen


def test_an_interval_holds_the_true_loss_and_widens_with_noise():
    quiet = rows(losses.blocks(content({"deadline": 1.0, "cfq": 0.8}), Looks())[0])["cfq"]
    loud = rows(losses.blocks(content({"deadline": 1.0, "cfq": 0.8}, noise=0.02), Looks())[0])["cfq"]
    assert quiet.low < 1.25 < quiet.high
    assert loud.high - loud.low > 3 * (quiet.high - quiet.low)


def test_p99_latency_stands_there_where_a_setting_is_shown_to_be_worse_in_it():
    found = losses.blocks(content({"deadline": 1.0, "cfq": 0.99}, {"deadline": 12.0}), Looks())
    assert [block.metric for block in found] == ["throughput", "p99 latency"]
    assert rows(found[1])["deadline"].words == "12 times longer" and rows(found[1])["cfq"].words == "shortest"
    alike = losses.blocks(content({"deadline": 1.0, "cfq": 0.99}), Looks())
    assert [block.metric for block in alike] == ["throughput"]


def test_the_price_of_the_recommended_setting_is_named():
    made = content({"deadline": 1.0, "cfq": 0.8})
    assert (
        losses.largest_loss(losses.blocks(made, Looks())) == "cfq costs most in random read: 20 % slower than deadline"
    )
    assert "cfq costs most in random read" in render(made)
    best = content({"deadline": 0.5, "cfq": 1.0})
    assert losses.largest_loss(losses.blocks(best, Looks())) == ""


def test_many_settings_share_one_picture_per_operation_and_few_have_lines():
    few = render(content({"deadline": 1.0, "cfq": 0.8}))
    assert "Each operation and setting by itself" not in few
    names = {f"bfq low_latency={n}": 1 - n / 100 for n in range(20)}
    assert "Each operation and setting by itself" in render(content(names))


def test_one_setting_has_no_picture():
    assert losses.blocks(content({"deadline": 1.0}), Looks()) == []
