"""Settings that multiply: what is tried, how it is screened, and what is said of it."""

import math
import random
from typing import ClassVar

import pytest

from seekwise.errors import UsageError
from seekwise.measure.live import also, screen
from seekwise.workload.study.uses import shipped

LEVELS = {"nr_requests": [None, 32, 1024], "iosched.low_latency": [None, 0], "read_ahead_kb": [None, 128, 4096]}


def test_every_value_of_a_setting_is_tried_as_often_as_any_other_and_settings_vary_apart():
    rows = screen.design(LEVELS, 48, seed=3)
    for name, values in LEVELS.items():
        counts = [sum(row[name] == value for row in rows) for value in values]
        assert max(counts) - min(counts) <= 1
    together = sum(row["nr_requests"] == 32 and row["iosched.low_latency"] == 0 for row in rows)
    assert 3 <= together <= 13  # 8 if they are independent


def periods(effect, noise, count=48, seed=1):
    rng = random.Random(seed)
    rows = screen.design(LEVELS, count, seed=seed)
    logs = [sum(effect.get((name, row[name]), 0.0) for name in LEVELS) + rng.gauss(0, noise) + 7 for row in rows]
    return rows, logs


def effects(rows, logs, *, more_is_better=False):
    return screen.effects(
        rows, logs, LEVELS, metric="p99", use="desktop", threshold=math.log(1.1), more_is_better=more_is_better
    )


def test_what_gains_is_found_among_settings_that_vary_at_once_and_what_harms_is_never_chosen():
    truth = {("nr_requests", 32): math.log(0.6), ("nr_requests", 1024): math.log(0.8), ("read_ahead_kb", 4096): 0.5}
    found = effects(*periods(truth, noise=0.1))
    assert screen.best_values(found) == {"nr_requests": 32}
    by_value = {(each.setting, each.value): each for each in found}
    assert by_value["read_ahead_kb", 4096].is_harm
    assert by_value["nr_requests", 32].size == pytest.approx(math.log(0.6), abs=0.12)


def test_a_rate_that_falls_is_a_loss():
    found = effects(*periods({("nr_requests", 32): math.log(0.5)}, noise=0.05), more_is_better=True)
    assert next(each for each in found if each.value == 32).is_harm


def test_where_nothing_matters_little_is_chosen():
    chosen = [len(screen.best_values(effects(*periods({}, noise=0.2, seed=seed)))) for seed in range(60)]
    # Five values, each with two standard errors to pass: a wrong one goes on to the last stage now and then, no more.
    assert sum(chosen) / len(chosen) < 0.35


def test_too_few_periods_tell_nothing():
    rows, logs = periods({("nr_requests", 32): -3.0}, noise=0.1, count=6)
    assert effects(rows, logs) == []


def test_a_period_without_a_figure_is_left_out():
    rows, logs = periods({("nr_requests", 32): math.log(0.5)}, noise=0.05)
    logs[3] = math.nan
    assert screen.best_values(effects(rows, logs)) == {"nr_requests": 32}


@pytest.mark.parametrize("text", ["", ",", "readahead", "requests,everything"])
def test_what_is_no_area_is_refused_with_what_there_is(text):
    with pytest.raises(UsageError) as refused:
        also.areas_of(text)
    assert "read-ahead, requests, depth, write-back, resync-limits, dirty-limits, scheduler-options" in str(
        refused.value.hint
    )


def test_all_is_every_area_and_scheduler_is_always_there():
    assert also.areas_of("all") == also.AREAS
    assert also.areas_of("scheduler, depth,requests") == ("requests", "depth")


def test_only_buffered_reads_feel_read_ahead_and_only_buffered_writers_feel_throttling():
    uses = {use.name: use for use in shipped()}
    assert also.has_effect("read_ahead_kb", uses["desktop-copy"])
    assert not also.has_effect("read_ahead_kb", uses["random-read"])
    assert also.has_effect("wbt_lat_usec", uses["desktop-copy"])
    assert not also.has_effect("wbt_lat_usec", uses["random-read"])
    assert also.has_effect("nr_requests", uses["random-read"])


class Level(tuple[str, int]):
    changes: ClassVar[dict[str, dict[str, str]]] = {}


def test_limits_of_a_rebuild_are_tried_while_one_runs_and_only_then(monkeypatch):
    monkeypatch.setattr(also, "_is_there", lambda target, name: True)
    monkeypatch.setattr(also, "tried_schedulers", lambda target: ([], []))
    monkeypatch.setattr(also, "combined", lambda target, scheduler, levels: Level(next(iter(levels.items()))))
    monkeypatch.setattr(also, "_is_resyncing", lambda target: True)
    assert also.space(None, also.areas_of("resync-limits")).levels == (
        ("sync_speed_max", 20000),
        ("sync_speed_max", 50000),
    )
    monkeypatch.setattr(also, "_is_resyncing", lambda target: False)
    with pytest.raises(UsageError, match="none of what --also names"):
        also.space(None, also.areas_of("resync-limits"))
