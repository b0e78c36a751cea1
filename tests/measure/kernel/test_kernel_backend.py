"""What the kernel backend refuses before anything is written."""

from __future__ import annotations

import os

import pytest

from seekwise.errors import MissingError
from seekwise.measure.kernel.backend import KernelBackend
from seekwise.simulate.protocol import Options
from seekwise.workload.study import starters
from seekwise.workload.study.planning import make


def test_without_root_a_comparison_of_schedulers_writes_nothing(monkeypatch, tmp_path):
    study, _ = starters.open_shipped("schedulers")
    study = study.model_copy(update={"backend": "kernel"})
    backend = KernelBackend(Options(str(tmp_path)))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    plan = make(study, backend.describe(study), seed=1)
    with pytest.raises(MissingError, match="only the one in force") as caught:
        backend.check(plan)
    assert "sudo" in caught.value.hint and "simulated" in caught.value.hint
    assert list(tmp_path.iterdir()) == []
