"""The section "Why" of hosts with several cores: processor time of a request, and what of it goes into locks."""

from __future__ import annotations

from dataclasses import replace

from seekwise.report import why
from seekwise.store.record import CpuSeconds, Phase, Record


def record(setting: str, system: str, busy_s: float, waited_s: float | None) -> Record:
    details = {} if waited_s is None else {"lock_wait_s": waited_s, "lock_held_s": 0.1 * busy_s}
    cpu = CpuSeconds(0.0, busy_s, system=busy_s)
    phase = Phase("rand_read", 1.0, 4096 * 100_000, 100_000, {}, 1000.0, 1000, cpu, details=details)
    given = {"system": system, "scheduler": setting}
    return Record("r", 0, 0, "cell", setting, given, "simulated", 1, "now", (phase,), conditions={"role": "candidate"})


def test_time_in_locks_stands_by_system_and_scheduler():
    records = [record("none", "one core", 0.3, 0.0), record("bfq", "one core", 0.4, 0.0)]
    records += [record("none", "ten cores", 0.4, 0.0), record("bfq", "ten cores", 2.0, 1.5)]
    found = why.causes(records)
    assert found is not None
    titles = [title for title, _ in found.columns]
    rows = {(row.operation, row.setting): dict(zip(titles, row.cells, strict=True)) for row in found.rows}
    assert len(rows) == 4
    ten = rows["Random read, ten cores", "bfq"]
    assert (ten["Waiting for locks"], ten["Holding locks"], ten["System CPU per request"]) == ("75 %", "10 %", "20 µs")
    assert rows["Random read, one core", "bfq"]["Waiting for locks"] == "0 %"
    assert "no single requests are kept" in found.missing


def test_records_without_locks_have_no_such_columns():
    records = [record("none", "a", 0.3, None), record("bfq", "a", 0.4, None)]
    assert why.causes(records) is None, "processor time alone explains little"
    with_merges = [replace(r, phases=(replace(r.phases[0], details={"merges": 10}),)) for r in records]
    found = why.causes(with_merges)
    assert found is not None and all("locks" not in title for title, _ in found.columns)
