"""What a guest gets with a use that runs programs: it lies in the guest's memory, so it is that use's data and no other's."""

from __future__ import annotations

from pathlib import Path

import pytest

from seekwise.workload.study.uses import Use
from seekwise_proof.testbed import filesystem, host_programs, tune_programs


def use(program: str) -> Use:
    job = {"name": "work", "role": "foreground", "program": program, "judge": ["time"]}
    return Use.model_validate({"name": "mine", "title": "Mine", "unit": "unit", "why": "test", "job": [job]})


@pytest.fixture
def archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked: list[str] = []

    def data_set(name: str, say: object) -> Path:
        asked.append(name)
        (tmp_path / name).write_bytes(name.encode())
        return tmp_path / name

    (tmp_path / "tree").write_bytes(b"")
    monkeypatch.setattr(host_programs, "data_set", data_set)
    monkeypatch.setattr(host_programs, "tree", lambda say: tmp_path / "tree")
    monkeypatch.setattr(filesystem, "programs", lambda say: {})
    return asked


@pytest.mark.parametrize(("program", "data"), [("sqlite", ["sqlite"]), ("start", ["python"])])
def test_a_guest_gets_the_data_of_its_own_use(archives: list[str], program: str, data: list[str]) -> None:
    packed = tune_programs.packed(use(program), lambda _: None)
    assert archives == data
    assert [name for name in packed if name.startswith("cell/data/")] == [f"cell/data/{name}.tar" for name in data]
