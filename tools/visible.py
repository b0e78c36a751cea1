"""Every string of the program that a person may read: literals with a space in them, help texts of commands, templates' words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import seekwise
from seekwise.report.explain import program

PACKAGE = Path(seekwise.__file__).parent
"""Shell lines that run in the guest: they are not for reading."""
TEMPLATE_CODE = r"{[%#{].*?[%#}]}|<(style|script).*?</\1>|<[^>]*>"
SQL = ("CREATE TABLE", "SELECT", "INSERT", "UPDATE")


def literals(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of each string literal with a space; values inside f-strings stand as `{}`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = set(_docstrings(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(inner) for inner in ast.walk(node) if inner is not node}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        # A word alone is a key or a name, unless it begins as a title does.
        if " " in text.strip() or re.fullmatch(r"[A-Z][a-z]+", text):
            yield node.lineno, text


def _docstrings(tree: ast.AST) -> Iterator[int]:
    """Docstrings are for readers of the source; those of commands come with `program.commands()`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield id(node.value)


@cache
def strings() -> tuple[tuple[str, str], ...]:
    """(place, text) of everything that may be read."""
    return tuple((place, text) for place, text in _strings() if not text.lstrip().startswith(SQL))


def _strings() -> Iterator[tuple[str, str]]:
    for name, command in program.commands().items():
        yield f"seekwise {name}", command.help or ""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = str(path.relative_to(PACKAGE))
        for line, text in literals(path):
            yield f"{name}:{line}", text
    for path in sorted(PACKAGE.rglob("*.html")):
        words = re.sub(TEMPLATE_CODE, " ", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for line in words.splitlines():
            if line.strip():
                yield path.name, line
    for path in sorted((PACKAGE / "report" / "explain" / "units").glob("*.md")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            if not line.startswith(("also:", "see:")):
                yield f"{path.name}:{number}", line
