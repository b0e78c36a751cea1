"""The walks that ARCHITECTURE.md draws are those that the code takes: each module stands there, and is called by the one above it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SEEKWISE = ROOT / "python/seekwise"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Walks")[2].partition("\n## ")[0]
MODULES_MOST = 12
WALKS = dict(re.findall(r"^`(\w[^`]*)`[^\n]*\n\n((?:    [^\n]*\n)+)", TEXT, re.MULTILINE))


@dataclass(frozen=True)
class Step:
    level: int
    file: str
    name: str

    @property
    def module(self) -> str:
        return "seekwise." + self.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def steps(walk: str) -> list[Step]:
    found = re.findall(r"^    ( *)([\w/]+\.py) (\w+)\b", walk, re.MULTILINE)
    assert len(found) == len(walk.splitlines()), "a line of a walk is: module, function, what it does"
    return [Step(len(indent) // 2, file, name) for indent, file, name in found]


@cache
def names_of(file: str) -> dict[str, set[str]]:
    """{function, method, class or constant of a module: names that it mentions}."""
    found: dict[str, set[str]] = {}
    for node in ast.walk(ast.parse((SEEKWISE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
        else:
            continue
        inside = set().union(*(_mentioned(each) for each in ast.walk(node)))
        for name in names:
            found[name] = found.get(name, set()) | inside
    return found


def _mentioned(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Name):
        return {node.id}
    return {node.attr} if isinstance(node, ast.Attribute) else set()


def reached(step: Step) -> set[str]:
    """Names that a function mentions, itself or through others of its module."""
    known, todo, seen = names_of(step.file), [step.name], set()
    while todo:
        for name in known[todo.pop()] - seen:
            seen.add(name)
            todo += [name] if name in known else []
    return seen


def imported(file: str) -> set[str]:
    """Modules that a module imports, wherever in it, and names that it imports from them as if they were modules."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((SEEKWISE / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_three_walks_are_drawn() -> None:
    assert list(WALKS) == [
        "sudo seekwise tune /srv",
        "sudo seekwise apply last --persist udev",
        "sudo seekwise revert",
    ]


@pytest.mark.parametrize("command", WALKS)
def test_a_walk_passes_few_modules(command: str) -> None:
    assert len({step.file for step in steps(WALKS[command])}) <= MODULES_MOST


@pytest.mark.parametrize("command", WALKS)
def test_each_step_of_a_walk_is_called_by_the_one_above_it(command: str) -> None:
    above: list[Step] = []
    for step in steps(WALKS[command]):
        assert step.name in names_of(step.file), step
        assert step.level <= len(above), f"{step} is indented too far"
        del above[step.level :]
        if above:
            caller = above[-1]
            assert step.module in imported(caller.file), f"{caller.file} does not import {step.module}"
            assert step.name in reached(caller), f"{caller.file} {caller.name} does not reach {step.name}"
        above.append(step)


def test_a_step_that_is_not_called_is_found() -> None:
    assert "carry_out" not in reached(Step(0, "cli/revert.py", "command"))
