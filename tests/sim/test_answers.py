"""The types of `simulate/spec.py` say what the compiled simulator answers: every key, and the kind of its value."""

from __future__ import annotations

import json
import typing

import pytest

from seekwise import _core
from seekwise.simulate.spec import Answer, CpuAnswer, Described, PhaseAnswer, QueueAnswer

PHASE = {"operation": "rand_read", "jobs": [{"pattern": "random", "block_bytes": 4096, "ios": 20}]}
DRIVE = {"model": "wd2500ys"}
ARRAY = {"model": "wd2500ys", "array": {"level": "raid5", "members": 4, "chunk_kib": 64}}
NOT_READ = {"bytes_read", "bytes_written", "events", "reads", "name", "schema", "seed", "queue", "model_version"}
"""Keys that nothing here reads."""


def spec(device: dict) -> dict:
    return {"seed": 1, "device": device, "queue": {"scheduler": "mq-deadline", "kernel": "6.1"}, "phases": [PHASE]}


def check(value: dict, kind: type) -> None:
    hints, extras = typing.get_type_hints(kind), typing.get_type_hints(kind, include_extras=True)
    needed = {name for name, hint in extras.items() if typing.get_origin(hint) is not typing.NotRequired}
    assert needed <= value.keys() <= {*hints, *NOT_READ}
    for name, hint in hints.items():
        plain = typing.get_origin(hint) or hint
        if name in value and isinstance(plain, type) and not typing.is_typeddict(hint):
            assert isinstance(value[name], plain), (name, value[name])


@pytest.mark.parametrize("device", [DRIVE, ARRAY], ids=["drive", "array"])
def test_answers_have_the_keys_that_their_types_say(device):
    (answer,) = json.loads(_core.simulate_cells(json.dumps([spec(device)]), 1))
    check(answer, Answer)
    check(answer["settings"], QueueAnswer)
    (phase,) = answer["phases"]
    check(phase, PhaseAnswer)
    check(phase["cpu"], CpuAnswer)
    assert ("array" in answer) == ("members" in phase) == (device is ARRAY)


def test_a_description_has_the_keys_that_its_type_says():
    described = json.loads(_core.describe_cell(json.dumps(spec(ARRAY))))
    check(described, Described)
    check(described["settings"], QueueAnswer)
