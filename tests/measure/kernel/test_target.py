"""Targets: a setting goes to every device on which it acts, and one that acts nowhere is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from seekwise.errors import UsageError
from seekwise.linux.resolve import resolve_path
from seekwise.linux.stack import read_stack
from seekwise.measure.kernel.target import Target

MACHINES = Path(__file__).resolve().parents[2] / "machines"


def target(machine: str, path: str) -> Target:
    return Target(Path(path), resolve_path(read_stack(MACHINES / f"{machine}.tar.gz"), path))


def test_each_setting_goes_where_it_acts():
    changes = target("md-raid5", "/srv").changes({"scheduler": "none", "read_ahead_kb": 512, "stripe_cache_size": 8192})
    assert changes.pop("md0") == {"queue/read_ahead_kb": "512", "md/stripe_cache_size": "8192"}
    assert changes == {name: {"queue/scheduler": "none"} for name in ("sdb", "sdc", "sdd", "sde")}


@pytest.mark.parametrize(
    ("machine", "path", "setting"),
    [("md-raid1", "/", "stripe_cache_size"), ("btrfs-two", "/tank", "read_ahead_kb")],
)
def test_a_setting_that_acts_nowhere_is_an_error_and_not_passed_over(machine, path, setting):
    with pytest.raises(UsageError, match=f"nothing below {path} has the setting {setting}"):
        target(machine, path).changes({setting: 512})


def test_what_changes_the_meaning_of_settings_is_told_of_the_whole_chain():
    assert target("md-raid10-degraded", "/var/lib/postgresql").warnings == ("md127: degraded, 1 of 4 members missing",)
    (unit,) = target("megaraid", "/srv").warnings
    assert "settings act on the logical unit" in unit
    assert target("md-raid1", "/").warnings == ()
