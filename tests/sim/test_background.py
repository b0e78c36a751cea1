"""A log writer beside a web server: what each of them gets, by scheduler and I/O class."""

from __future__ import annotations

import pytest

from seekwise.errors import UsageError
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.workload.study import planning
from seekwise.workload.study.study import Study

from .studies import carried_out


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
    made = carried_out(given)
    return {each.factors["scheduler"]: {phase.operation: phase.ios for phase in each.phases} for each in made}


def test_cfq_lets_an_idle_log_writer_wait_and_a_real_time_one_through_and_deadline_asks_for_no_class():
    idle, first = ios(study({"io_class": "idle"})), ios(study({"io_class": "realtime", "io_priority": 0}))
    assert idle["cfq"]["seq_write"] * 10 < first["cfq"]["seq_write"]
    assert idle["deadline"]["seq_write"] == first["deadline"]["seq_write"] > 10
    assert all(each["rand_read"] > 100 for each in (*idle.values(), *first.values()))


def test_the_writer_pauses_for_its_think_time():
    often, seldom = (ios(study({"think_time": time, "io_class": "realtime"})) for time in ("10ms", "200ms"))
    assert seldom["cfq"]["seq_write"] <= 2 / 0.2 + 1 < often["cfq"]["seq_write"]


def test_the_writer_starts_after_its_delay_and_its_threads_one_after_another():
    at_once, late, staggered = (
        ios(study({"io_class": "realtime", **changes}))["deadline"]["seq_write"]
        for changes in ({}, {"start_delay": "1s"}, {"threads": 4, "start_stagger": "500ms"})
    )
    # Half of two seconds; threads that work 2, 1.5, 1 and 0.5 of them.
    assert late / at_once == pytest.approx(0.5, abs=0.05)
    assert staggered / at_once == pytest.approx(2.5, abs=0.25)


def test_poisson_arrivals_keep_the_rate_and_make_requests_wait_for_each_other():
    """An open loop: at 60 a second against 12 ms of service they meet in the queue only where gaps are random."""

    def reads(arrivals: str) -> tuple[float, float]:
        given = study({})
        load = given.workload[0].model_copy(
            update={"threads": [1], "rate_limit": 60 * 16384, "arrivals": arrivals, "beside": [], "runtime": 20.0}
        )
        given = given.model_copy(update={"workload": [load]})
        phase = carried_out(given)[0].phases[0]
        return phase.ios / 20, phase.latency_mean_ns

    (even_rate, even_ns), (random_rate, random_ns) = reads("even"), reads("poisson")
    assert even_rate == pytest.approx(60, rel=0.02)
    assert random_rate == pytest.approx(60, rel=0.1)
    assert random_ns > 1.2 * even_ns


def test_paces_that_cannot_be_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="needs a `rate_limit`"):
        study({"arrivals": "poisson"})
    with pytest.raises(
        ValueError, match=r"the last of 4 threads would start after 3\.5 s, and the phase ends after 2 s"
    ):
        study({"threads": 4, "start_stagger": "1s", "start_delay": "500ms"})
    given = study({})
    load = given.workload[0].model_copy(update={"start_stagger": 0.1, "beside": []})
    with pytest.raises(UsageError, match=r"`start_stagger` works with the simulated backend, not with `lab`"):
        planning.make(
            given.model_copy(update={"backend": "lab", "workload": [load]}), SimulatedBackend().describe(given)
        )


def test_other_backends_refuse_in_a_sentence():
    given = study({})
    facts = SimulatedBackend().describe(given)
    with pytest.raises(UsageError, match=r"`workload\.beside` works with the simulated backend, not with `kernel`"):
        planning.make(given.model_copy(update={"backend": "kernel"}), facts)
