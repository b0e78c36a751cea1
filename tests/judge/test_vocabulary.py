"""There is one vocabulary of verdicts: better, same, worse, unknown."""

from __future__ import annotations

import ast
import typing
from pathlib import Path

from seekwise.judge.decision.runs import UseChange
from seekwise.judge.decision.verdicts import Word

PRODUCT = Path(__file__).parents[2] / "python/seekwise"
FORMER = {"clear", "small", "tie", "undecided", "regression", "improvement", "inconclusive", "winners"}


def test_no_module_that_judges_or_tells_verdicts_has_another_word_for_one():
    rooms = [
        *(PRODUCT / "judge").rglob("*.py"),
        *(PRODUCT / "settings/guard").glob("*.py"),
        # `clear` is a state of md's in `device_words`.
        *(path for path in (PRODUCT / "report").glob("*.py") if path.name != "device_words.py"),
    ]
    assert len(rooms) > 60
    named = [
        (path.name, node.value)
        for path in rooms
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in FORMER
    ]
    assert named == []


def test_two_runs_are_told_in_the_same_words():
    words = set(typing.get_args(Word))
    assert words == {"better", "same", "worse", "unknown"}
    told = typing.get_type_hints(UseChange)["verdict"]
    assert set(typing.get_args(typing.get_args(told)[0])) | set(typing.get_args(typing.get_args(told)[1])) == words | {
        "unconfirmed"
    }
