"""The wall and the map: who imports whom, and that what ARCHITECTURE.md and crates/README.md name is there."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


def tool(name: str) -> ModuleType:
    """A module of `tools/`."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"tools/{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


imports, rust_modules = tool("imports"), tool("rust_modules")
PAGES = [
    ROOT / "ARCHITECTURE.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "README.md",
    *(page for folder in ("docs", "proof/docs", "papers/docs") for page in (ROOT / folder).rglob("*.md")),
]
OF_THE_TREE = "crates|docs|models|packaging|papers|proof|python|studies|tests|tools"
MAP = PAGES[0].read_text(encoding="utf-8")
ROOMS_MOST = 12


def test_the_product_imports_nothing_of_the_others_and_they_import_public_names_only() -> None:
    graph = imports.graph()
    assert len(graph) > 300
    for module, targets in graph.items():
        own = module.split(".")[0]
        foreign = {each for each in targets if each.split(".")[0] != own}
        assert not foreign or own != "seekwise", f"{module} imports {foreign}"
        assert {each.split(".")[0] for each in foreign} <= {"seekwise"}, f"{module} imports {foreign}"
        private = [each for each in foreign if any(part.startswith("_") for part in each.split("."))]
        assert not private, f"{module} imports {private}"


@pytest.mark.parametrize("package", ["seekwise_proof", "seekwise_papers"])
def test_no_private_name_of_the_product_is_imported(package: str) -> None:
    for path in imports.PACKAGES[package].rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "seekwise":
                assert not [name.name for name in node.names if name.name.startswith("_")], path


def test_no_files_import_each_other_in_a_circle() -> None:
    assert imports.circles(imports.graph()) == []
    assert imports.circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [["b", "c"]]


def test_the_map_says_on_which_floor_each_room_stands() -> None:
    line = next(line for line in MAP.splitlines() if line.startswith("    1 linux"))
    said = {
        name: int(floor) for floor, names in re.findall(r"(\d) ([a-z, ]+)", line) for name in names.strip().split(", ")
    }
    assert said == imports.floors(imports.rooms())


def test_rooms_stand_on_floors_and_are_few() -> None:
    used = imports.rooms()
    assert set(imports.floors(used)) == set(used), "an arrow up: rooms import each other in a circle"
    assert len(used) <= ROOMS_MOST
    order = re.findall(r"^\| `python/seekwise/(\w+)(?:\.py|/)` \|", MAP, re.MULTILINE)
    modules = {path.stem for path in imports.PACKAGES["seekwise"].glob("*.py")} - {"__init__"}
    assert set(order) == set(used) | modules, "the table of ARCHITECTURE.md"
    above = {
        (module, each)
        for module, targets in imports.graph().items()
        for each in targets - imports.EXTENSIONS
        if module.startswith("seekwise.") and order.index(imports.room(each)) > order.index(imports.room(module))
    }
    assert above == set(), "imports against the order of ARCHITECTURE.md"


def test_each_crate_uses_what_its_line_says_and_the_product_nothing_of_the_proof() -> None:
    lines = dict(re.findall(r"^\| `([\w]+)` \|.*\| ([^|]*) \|$", (ROOT / "crates/README.md").read_text(), re.MULTILINE))
    product = {path.parent.name: path for path in (ROOT / "crates").glob("*/Cargo.toml")}
    assert set(lines) == set(product)
    for crate, path in product.items():
        needed = tomllib.loads(path.read_text()).get("dependencies", {})
        used = {name.removeprefix("seekwise-") for name in needed if name.startswith("seekwise-")}
        said = set(re.findall(r"`(\w+)`", lines[crate]))
        if "all above" in lines[crate]:
            said = set(list(lines)[: list(lines).index(crate)])
        assert used <= said, f"{crate} uses {sorted(used - said)}, which crates/README.md does not say"


CRATES = sorted([*(ROOT / "crates").glob("*/src"), *(ROOT / "proof/crates").glob("*/src")])


@pytest.mark.parametrize("source", CRATES, ids=[source.parent.name for source in CRATES])
def test_no_modules_of_a_crate_use_each_other_in_a_circle(source: Path) -> None:
    assert ["::".join(module) for circle in rust_modules.circles_of_crate(source) for module in circle] == []


def test_a_circle_between_modules_is_found(tmp_path: Path) -> None:
    (tmp_path / "storage").mkdir()
    for name, code in {
        "lib.rs": "mod cost;\nmod storage;\n",
        "cost.rs": "use crate::storage::{md, served::{self, Served}};\n",
        "storage/mod.rs": "mod md;\nmod served;\nfn work() {}\n",
        "storage/md.rs": "fn time() { super::super::cost::time() }\n",
        "storage/served.rs": "struct Served;\n#[cfg(test)]\nmod tests {\n    use crate::cost;\n}\n",
    }.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    assert rust_modules.circles_of_crate(tmp_path) == [[("cost",), ("storage", "md")], [("cost",), ("storage",)]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_path_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(rf"`((?:{OF_THE_TREE})/[\w./-]+)`", page.read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("top", ["python", "proof", "papers", "tests", "tools", "benches"])
def test_each_module_that_is_imported_exists(top: str) -> None:
    """Imports within functions and in tools, too, which no test runs."""
    known = set(imports.files()) | imports.EXTENSIONS
    for path in (ROOT / top).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            named += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            missing = [name for name in named if name.split(".")[0] in imports.PACKAGES and name not in known]
            assert not missing, f"{path} imports {missing}"
