"""What the modules of a crate use of each other, read from their `use` lines and paths."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

Module = tuple[str, ...]
TESTS = re.compile(r"^#\[cfg\(test\)\]\s*$\s*(?:pub )?mod \w+ \{", re.MULTILINE)
USE = re.compile(r"\buse ((?:crate|super|self)::[^;]*);")
PATH = re.compile(r"\b(?:crate|super)(?:::\w+)+")


def code_of(text: str) -> str:
    """Without comments and without the tests at a file's end."""
    tests = TESTS.search(text)
    return re.sub(r"//[^\n]*", "", text[: tests.start()] if tests else text)


def modules_of(source: Path) -> dict[Module, str]:
    """{path of a module within its crate: its code}; test modules apart."""
    found = {}
    for path in sorted(source.rglob("*.rs")):
        names = path.relative_to(source).with_suffix("").parts
        names = names[:-1] if names[-1] in ("mod", "lib", "main") else names
        if "tests" not in names:
            found[names] = code_of(path.read_text(encoding="utf-8"))
    return found


def expanded(tree: str) -> Iterable[str]:
    """The paths of a `use` tree: `a::{b, c::{d, e}}` names `a::b`, `a::c::d`, `a::c::e`."""
    whole = re.fullmatch(r"([^{]*)\{(.*)\}", " ".join(tree.split()))
    if not whole:
        yield tree.strip()
        return
    depth, part = 0, ""
    for letter in whole[2] + ",":
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            if part.strip():
                yield from (whole[1] + path for path in expanded(part.strip()))
            part = ""
        else:
            part += letter


def used_by(module: Module, code: str, modules: Iterable[Module]) -> set[Module]:
    known = set(modules)
    trees = USE.findall(code)
    paths = [path for tree in trees for path in expanded(tree)] + PATH.findall(USE.sub("", code))
    found = set()
    for path in paths:
        names = path.split("::")
        base: Module = () if names[0] == "crate" else module
        if names[0] == "self":
            names = names[1:]
        while names and names[0] in ("crate", "super"):
            base = base[:-1] if names[0] == "super" else base
            names = names[1:]
        for name in names:
            if (*base, name) not in known:
                break
            base = (*base, name)
        found.add(base)
    return (found - {module}) & known


def circles(uses: dict[Module, set[Module]]) -> list[list[Module]]:
    """Sets of modules of which each reaches each other one."""

    def reached(start: Module) -> set[Module]:
        seen: set[Module] = set()
        waiting = list(uses.get(start, ()))
        while waiting:
            module = waiting.pop()
            if module not in seen:
                seen.add(module)
                waiting += uses.get(module, ())
        return seen

    reach = {module: reached(module) for module in uses}
    found = {
        tuple(sorted(other for other in reach[module] if module in reach.get(other, ())))
        for module in uses
        if module in reach[module]
    }
    return [list(circle) for circle in sorted(found)]


def circles_of_crate(source: Path) -> list[list[Module]]:
    """Circles of files, and of the folders and files side by side in one folder, each folder taken as a whole."""
    modules = modules_of(source)
    uses = {module: used_by(module, code, modules) for module, code in modules.items()}
    found = circles(uses)
    for parent in {module[:-1] for module in modules if module}:
        inside = len(parent) + 1
        joined: dict[Module, set[Module]] = {}
        for module, others in uses.items():
            if len(module) >= inside and module[:-1][: len(parent)] == parent:
                siblings = {
                    other[:inside] for other in others if len(other) >= inside and other[: len(parent)] == parent
                }
                joined.setdefault(module[:inside], set()).update(siblings - {module[:inside]})
        found += [circle for circle in circles(joined) if circle not in found]
    return found
