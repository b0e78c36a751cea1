"""`make quick` finds the tests that are nearest to a change; a room's ceiling is held by `make check`."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

import lines
import quick


def test_the_nearest_tests_come_first():
    near = quick.tests_near(["python/seekwise/linux/setters/shell.py", "tests/sim/test_new_scheduler.py"])
    assert near[0] == "tests/sim/test_new_scheduler.py", "a changed test itself"
    direct = near.index("tests/settings/test_who_set_it.py")
    assert direct < near.index("tests/settings/test_doctor.py") if "tests/settings/test_doctor.py" in near else direct
    assert "tests/importing/__init__.py" not in near


def test_modules_are_near_by_their_imports():
    graph = {"a": {"b"}, "b": {"c"}, "c": set(), "d": {"a"}, "other": set()}
    assert quick.distances(["c"], graph) == {"c": 0, "b": 1, "a": 2, "d": 3}


def test_a_room_above_its_ceiling_is_named_with_its_lines():
    most = {"product Python/judge": 100, "product Python/others": 10}
    assert lines.above({"product Python": Counter({"judge": 100, "files": 7, "bounds": 3})}, most) == []
    (said,) = lines.above({"product Python": Counter({"judge": 103, "files": 7})}, most)
    assert said == "product Python/judge has 103 lines, 3 above its ceiling"
    (said,) = lines.above({"product Python": Counter({"judge": 1, "new_room": 11})}, most)
    assert said == "product Python/others has 11 lines, 1 above its ceiling", "a room without a row is among the others"


def test_ceilings_are_read_from_their_table():
    found = lines.ceilings()
    assert {"product Python/judge", "product Rust/sim", "product Python/others"} <= set(found)
    assert all(count > 0 for count in found.values())
