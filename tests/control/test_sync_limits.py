"""Limits of a rebuild in sysfs: what their text says, and what puts them back."""

from seekwise.control import attributes


def test_a_limit_says_whose_it_is():
    assert attributes.value("md/sync_speed_max", "200000 (system)") == "system"
    assert attributes.value("md/sync_speed_max", "50000 (local)") == "50000"
    assert attributes.value("md/sync_speed_min", None) is None
    assert attributes.value("md/stripe_cache_size", "256") == "256"
