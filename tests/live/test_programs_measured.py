"""`tune` with uses of real programs on a real disk: what is recorded of their units, within the budget, and nothing left behind."""

import json
import time
from pathlib import Path

import pytest

from cli.conftest import needs_fio, needs_root, settings_of
from seekwise.store.database import Store

pytestmark = [needs_root, needs_fio, pytest.mark.slow]
BUDGET_S = 60
LATE_S = 10
"""A budget is kept within this."""


@pytest.mark.timeout(300)
def test_units_of_programs_are_measured_cold_and_within_the_budget(seekwise, storage, tmp_path):
    before = settings_of(storage.name)
    began = time.monotonic()
    done = seekwise(
        "tune", str(storage.folder), "--for", "desktop-copy,web-server", "--vary", "scheduler=none,bfq",
        "--budget", f"{BUDGET_S}s", "--db", str(tmp_path / "r.db"), "--json",
    )  # fmt: skip
    took_s = time.monotonic() - began
    document = json.loads(done.stdout)
    assert took_s < BUDGET_S + LATE_S
    waited_for = {(row["use"], row["unit"]) for row in document["uses"] if row["role"] == "foreground"}
    assert waited_for == {("desktop-copy", "start"), ("web-server", "page")}
    assert settings_of(storage.name) == before
    assert not list(storage.folder.glob("seekwise-scratch-*"))
    with Store.open(Path(tmp_path / "r.db")) as store:
        (run,) = store.runs()
        records = list(store.records(run.run_id))
    assert records[0].environment["program_data_bytes"]["python"] > 50e6
    starts = [phase for each in records for phase in each.phases if phase.details["job"] == "start"]
    assert {phase.ios for phase in starts} <= {1, 2, 3, 4} and all(phase.latency_mean_ns > 1e8 for phase in starts)
    assert all(0 < phase.details["waiting_share"] < 1 and phase.details["cached_share"] < 0.02 for phase in starts)
    pages = [phase for each in records for phase in each.phases if phase.details["job"] == "pages" and phase.ios]
    assert pages and all(phase.details["cached_share"] < 0.1 for phase in pages)
    by_setting = {
        name: sum(
            phase.ios
            for each in records
            if each.setting == name
            for phase in each.phases
            if phase.details["job"] == "start"
        )
        for name in ("none", "bfq")
    }
    assert abs(by_setting["none"] - by_setting["bfq"]) <= 4, "settings had unequal numbers of long units"
