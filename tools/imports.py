"""Who imports whom, drawn from the tree: `python tools/imports.py [--dot]`.

Distributions, then the rooms of the product on their floors (a room stands one above the highest that it uses), and every circle of files.
Imports for types alone are left out, those within functions are counted. `--dot` prints the rooms for Graphviz.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "seekwise": ROOT / "python/seekwise",
    "seekwise_proof": ROOT / "proof/seekwise_proof",
    "seekwise_papers": ROOT / "papers/seekwise_papers",
}
EXTENSIONS = {"seekwise._core", "seekwise_proof._proof"}
Graph = Mapping[str, set[str]]


def module_name(package: str, path: Path) -> str:
    """`seekwise.judge.rule` of a file; a package's own file has the package's name."""
    parts = path.relative_to(PACKAGES[package]).with_suffix("").parts
    return ".".join((package, *(part for part in parts if part != "__init__")))


@cache
def files() -> dict[str, Path]:
    """{module: its file} of all three distributions."""
    return {module_name(package, path): path for package, top in PACKAGES.items() for path in sorted(top.rglob("*.py"))}


@cache
def graph() -> Graph:
    """{module: modules that it imports}, extensions among them."""
    known = set(files()) | EXTENSIONS
    return {name: imported(path.read_text(encoding="utf-8"), known) - {name} for name, path in files().items()}


def imported(source: str, known: set[str]) -> set[str]:
    """Which of the known modules a source imports."""
    return {found for name in _named(ast.parse(source)) if (found := _known(name, known))}


def _named(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield from (f"{node.module}.{name.name}" for name in node.names)
    elif isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    for child in ast.iter_child_nodes(node):
        yield from _named(child)


def _known(name: str, known: set[str]) -> str | None:
    """The module itself, or the one that has the name."""
    return next((each for each in (name, name.rpartition(".")[0]) if each in known), None)


def room(module: str) -> str:
    """`judge` of `seekwise.judge.rule`; a module at the top is its own room."""
    return module.split(".")[1] if "." in module else module


def rooms() -> dict[str, set[str]]:
    """{room of the product: rooms that it uses}; rooms are folders."""
    names = {path.name for path in PACKAGES["seekwise"].iterdir() if (path / "__init__.py").exists()}
    used: dict[str, set[str]] = {name: set() for name in sorted(names)}
    for module, targets in graph().items():
        if module.startswith("seekwise.") and room(module) in used:
            used[room(module)] |= {room(each) for each in targets if each.startswith("seekwise.")} & names
    return {name: targets - {name} for name, targets in used.items()}


def floors(used: Graph) -> dict[str, int]:
    """{room: floor}; rooms of a circle have none."""
    found: dict[str, int] = {}
    while ready := [name for name, targets in used.items() if name not in found and targets <= set(found)]:
        found |= {name: 1 + max((found[each] for each in used[name]), default=0) for name in ready}
    return found


def circles(of: Graph) -> list[list[str]]:
    """Groups of modules each of which reaches every other one."""
    reach = {name: _reached(name, of) for name in of}
    found = {
        frozenset(each for each in reach[name] if name in reach.get(each, ())) for name in of if name in reach[name]
    }
    return sorted(sorted(group) for group in found)


def _reached(start: str, of: Graph) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = of.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def picture() -> str:
    """Distributions, rooms by floor from the top, circles."""
    lines = []
    for package in PACKAGES:
        own = [module for module in graph() if module.split(".")[0] == package]
        others = {each.split(".")[0] for module in own for each in graph()[module]} - {package}
        lines.append(
            f"{package:16} {len(own):4} files   imports {', '.join(sorted(others)) or 'neither of the others'}"
        )
    used = rooms()
    on = floors(used)
    for floor in range(max(on.values()), 0, -1):
        lines.append(f"\n{floor}")
        lines += [f"   {name:10} → {', '.join(sorted(used[name])) or '–'}" for name in used if on[name] == floor]
    found = circles(graph())
    lines.append(f"\ncircles of files: {len(found)}")
    lines += ["   " + ", ".join(each) for each in found]
    return "\n".join(lines)


def dot() -> str:
    """The rooms for Graphviz."""
    arrows = [f'  "{name}" -> "{each}";' for name, targets in rooms().items() for each in sorted(targets)]
    return "\n".join(["digraph rooms {", *arrows, "}"])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dot", action="store_true", help="the rooms for Graphviz")
    print(dot() if parser.parse_args().dot else picture())
    return 0


if __name__ == "__main__":
    sys.exit(main())
