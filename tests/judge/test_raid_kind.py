"""Hardware RAID or fake: what data per system-CPU second beside md say."""

from __future__ import annotations

import pytest

from seekwise.judge.raid_kind import MatchedOperation, raid_kind
from seekwise.report.insights import controllers
from seekwise.report.insights.means import Means
from seekwise.workload.study.study import System


@pytest.mark.parametrize(
    ("efficiency", "kind"), [(3.0, "hardware"), (1.3, "hardware"), (1.18, "unknown"), (1.05, "fake"), (0.7, "fake")]
)
def test_cpu_efficiency_in_writing_decides_not_the_rate(efficiency, kind):
    for throughput in (0.5, 2.0):
        found = raid_kind(
            [MatchedOperation("seq_write", efficiency, throughput), MatchedOperation("seq_read", 1.0, 1.0)]
        )
        assert found.kind == kind
        assert found.efficiency == pytest.approx(efficiency)


def test_reading_counts_where_nothing_was_written_and_nothing_is_said_of_nothing():
    assert raid_kind([MatchedOperation("rand_read", 1.5, 1.0)]).kind == "hardware"
    assert raid_kind([]) is None
    assert (
        raid_kind([MatchedOperation("seq_write", float("nan"), 1.0), MatchedOperation("seq_write", 0.0, 1.0)]) is None
    )


def test_a_finding_names_both_systems_only_where_drives_and_level_are_the_same():
    def system(name, **more):
        return System(name=name, drive="st3250620ns", drives=3, raid_level="raid5", **more)

    place = ("none", "seq_write", 1, 65536)
    names = {"card": 200.0, "cheap": 101.0, "md": 100.0}
    values = {(name, *place): value for name, value in names.items()}
    means = Means({"rate": dict.fromkeys(values, 50.0), "access_time": {}, "cpu_efficiency": values}, 0.0)
    systems = [system("card", controller="9650-4LP"), system("cheap", controller="fake"), system("md")]
    found = controllers.find(means, systems)
    assert [(finding.numbers["pairs"], finding.numbers["kind"]) for finding in found] == [
        ([("card", "md")], "hardware"),
        ([("cheap", "md")], "fake"),
    ]
    other = [systems[0], System(name="md", drive="st3250620ns", drives=4, raid_level="raid5")]
    assert controllers.find(means, other) == []
