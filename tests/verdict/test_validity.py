"""A trial is invalid for a recorded cause and for nothing else."""

from __future__ import annotations

import pytest

from seekwise.verdict.validity import Cause, Seen, invalid_causes, reason


def test_an_undisturbed_trial_counts() -> None:
    seen = Seen(
        bytes_asked=10**9,
        bytes_on_device=10**9 + 10**6,
        settings_before={"sda/queue/scheduler": "bfq"},
        settings_after={"sda/queue/scheduler": "bfq"},
        sync_actions={"md0": "idle"},
        throttle_events=0,
        depth_asked=32,
        depth_reached=31.0,
        runtime_asked_s=10,
        runtime_s=10.004,
    )
    assert invalid_causes(seen) == []
    assert reason([]) is None


def test_nothing_seen_is_no_cause() -> None:
    assert invalid_causes(Seen()) == []


@pytest.mark.parametrize(
    ("seen", "cause", "words"),
    [
        (Seen(errors=("fio ended with status 1",)), Cause.ERROR, "status 1"),
        (Seen(bytes_asked=100, bytes_on_device=110), Cause.FOREIGN_IO, "10.0 % more"),
        (Seen(bytes_asked=100, bytes_on_device=40), Cause.CACHE_HIT, "60.0 %"),
        (
            Seen(settings_before={"sda/queue/scheduler": "bfq"}, settings_after={"sda/queue/scheduler": "none"}),
            Cause.SETTING_CHANGED,
            "was bfq and is none",
        ),
        (Seen(sync_actions={"md0": "resync"}), Cause.RESYNC, "md0 is in resync"),
        (Seen(throttle_events=3), Cause.THROTTLED, "3"),
        (Seen(temperature_warning=True), Cause.THROTTLED, "temperature"),
        (Seen(depth_asked=32, depth_reached=20.0), Cause.DEPTH_NOT_REACHED, "20.0 of 32"),
        (Seen(runtime_asked_s=10, runtime_s=9.8), Cause.SHORT_RUNTIME, "9.80 s"),
        (Seen(overruns=2), Cause.OVERRUN, "2 requests"),
    ],
)
def test_each_cause_is_named_with_its_value(seen: Seen, cause: Cause, words: str) -> None:
    found = invalid_causes(seen)
    assert [c for c, _ in found] == [cause]
    assert words in (reason(found) or "")


def test_caches_may_answer_where_the_study_says_so() -> None:
    assert invalid_causes(Seen(bytes_asked=100, bytes_on_device=10, cache_allowed=True)) == []


def test_mirrored_writes_are_twice_the_bytes() -> None:
    assert invalid_causes(Seen(bytes_asked=100, bytes_on_device=200, device_bytes_per_byte=2.0)) == []


def test_all_causes_are_listed() -> None:
    found = invalid_causes(Seen(sync_actions={"md0": "check"}, overruns=1))
    assert reason(found) == "resync or scrub: md0 is in check; overrun: 1 requests later than the drive's model"
