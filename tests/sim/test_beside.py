"""A log writer beside a web server: what each of them gets, by scheduler and I/O class."""

from __future__ import annotations

import pytest

from seekwise.backend.simulated import SimulatedBackend
from seekwise.errors import UsageError
from seekwise.study import plan as plans
from seekwise.study.model import Study


def study(log: dict, **changes: object) -> Study:
    return Study.model_validate({
        "name": "server",
        "backend": "simulated",
        "system": [{"name": "disk", "drive": "wd2500ys", "kernel": "4.4"}],
        "settings": {"scheduler": ["deadline", "cfq"]},
        "workload": [
            {
                "name": "web", "operations": ["rand_read"], "threads": 8, "block_bytes": "16k", "size": "1g", "runtime": "2s",
                "beside": {"name": "log", "operation": "seq_write", "think_time": "20ms", **log},
            }
        ],
        "design": {"blocks": 1, "control": False, "sentinel": False},
        **changes,
    })  # fmt: skip


def ios(given: Study) -> dict[str, dict[str, int]]:
    """{scheduler: {operation: requests}}."""
    backend = SimulatedBackend()
    plan = plans.make(given, backend.describe(given))
    backend.check(plan)
    with backend.session(plan, "r", lambda _: None) as session:
        made = list(session.run(list(plan.trials), {}))
    return {each.factors["scheduler"]: {phase.operation: phase.ios for phase in each.phases} for each in made}


def test_cfq_lets_an_idle_log_writer_wait_and_a_real_time_one_through_and_deadline_asks_for_no_class():
    idle, first = ios(study({"io_class": "idle"})), ios(study({"io_class": "realtime", "io_priority": 0}))
    assert idle["cfq"]["seq_write"] * 10 < first["cfq"]["seq_write"]
    assert idle["deadline"]["seq_write"] == first["deadline"]["seq_write"] > 10
    assert all(each["rand_read"] > 100 for each in (*idle.values(), *first.values()))


def test_the_writer_pauses_for_its_think_time():
    often, seldom = (ios(study({"think_time": time, "io_class": "realtime"})) for time in ("10ms", "200ms"))
    assert seldom["cfq"]["seq_write"] <= 2 / 0.2 + 1 < often["cfq"]["seq_write"]


def test_other_backends_refuse_in_a_sentence():
    given = study({})
    facts = SimulatedBackend().describe(given)
    with pytest.raises(
        UsageError, match=r"`workload\.beside` is carried out by the simulated backend, not by `kernel`"
    ):
        plans.make(given.model_copy(update={"backend": "kernel"}), facts)
