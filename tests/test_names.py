"""One name, one meaning: a class of the package shares its name with no other class of the package."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "python" / "seekwise"


def classes(source: str) -> list[str]:
    """Classes of a module that other modules may use: nested ones and those with `_` in front have a narrower home."""
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]


def used_twice(modules: Mapping[str, str]) -> list[str]:
    """`Name: module, module` for each name that several classes have; `modules`: {path: source}."""
    places: dict[str, list[str]] = defaultdict(list)
    for path, source in modules.items():
        for name in classes(source):
            places[name].append(path)
    return [f"{name}: {', '.join(sorted(where))}" for name, where in sorted(places.items()) if len(where) > 1]


def test_each_class_has_a_name_of_its_own() -> None:
    sources = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert len(sources) > 100
    assert not used_twice(sources), "\n".join(used_twice(sources))


def test_a_name_that_two_classes_have_is_found() -> None:
    nested = "class Disk:\n    class Entry: ...\nclass _Reader: ...\n"
    modules = {"a.py": "class Entry: ...\n", "b.py": "class Entry: ...\nclass _Reader: ...\n", "c.py": nested}
    assert used_twice(modules) == ["Entry: a.py, b.py"]
