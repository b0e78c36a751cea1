"""Studies of one system and one load for the simulator, and their records."""

from __future__ import annotations

from seekwise.simulate.simulated import SimulatedBackend
from seekwise.store.record import Record
from seekwise.workload.study import planning
from seekwise.workload.study.study import Study


def study(system: dict, workload: dict, settings: dict | None = None) -> Study:
    """One repetition without controls; mq-deadline unless `settings` name others."""
    return Study.model_validate({
        "name": "test",
        "backend": "simulated",
        "system": [{"name": "a", **system}],
        "settings": settings or {"scheduler": ["mq-deadline"]},
        "workload": [workload],
        "design": {"blocks": 1, "control": False, "sentinel": False},
    })  # fmt: skip


def carried_out(given: Study) -> list[Record]:
    """In the order of their settings."""
    backend = SimulatedBackend()
    plan = planning.make(given, backend.describe(given))
    backend.check(plan)
    with backend.session(plan, "r", lambda _: None) as session:
        return sorted(session.run(list(plan.trials), {}), key=lambda record: record.setting)
