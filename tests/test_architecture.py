"""The map is true: what ARCHITECTURE.md and crates/README.md name is there, and what is there has its line."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from tests.rust_modules import circles_of_crate, functions_of, lines_of, undocumented

ROOT = Path(__file__).parents[1]
MAP = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
CRATES = (ROOT / "crates/README.md").read_text(encoding="utf-8")
SEEKWISE = ROOT / "python/seekwise"
OF_THE_TREE = (
    "papers/",
    "proof/",
    "crates/",
    "docs/",
    "models/",
    "packaging/",
    "python/",
    "studies/",
    "tests/",
    "tools/",
)
DATA = {"profiles", "studies", "uses"}
"""Folders of the package that hold TOML files."""


def paths_of(text: str) -> set[str]:
    return {token for token in re.findall(r"`([^`\s]+)`", text) if token.startswith(OF_THE_TREE)}


SOURCE_FILE = re.compile(
    r"(?:(?:proof/)?crates|python/seekwise|proof/seekwise_proof|papers/seekwise_papers)/[\w/]+\.(?:rs|py)\b"
)


def test_each_source_file_that_a_page_names_exists() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    named = {(path, page.name) for page in pages for path in SOURCE_FILE.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 5
    assert {each for each in named if not (ROOT / each[0]).exists()} == set()


@pytest.mark.parametrize(
    "path", sorted(paths_of(MAP) | paths_of((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
)
def test_each_path_that_the_map_names_exists(path: str) -> None:
    assert (ROOT / path).exists(), path


def rows_of_packages() -> list[str]:
    """Names of packages and modules in the order of the map."""
    table = MAP.partition("## The packages")[2].partition("\n## ")[0]
    return re.findall(r"^\| `python/seekwise/(\w+)(?:\.py|/)` \|", table, re.MULTILINE)


def packages_there() -> set[str]:
    modules = {path.stem for path in SEEKWISE.glob("*.py")} - {"__init__"}
    folders = {path.name for path in SEEKWISE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    return (modules | folders) - DATA


def test_each_package_has_its_line() -> None:
    rows = rows_of_packages()
    assert len(rows) == len(set(rows))
    assert set(rows) == packages_there()


def test_each_crate_has_its_line_and_uses_what_the_line_says() -> None:
    lines = dict(re.findall(r"^\| `([\w]+)` \|.*\| ([^|]*) \|$", CRATES, re.MULTILINE))
    manifests = {
        path.parent.name: tomllib.loads(path.read_text())
        for top in ("crates", "proof/crates")
        for path in (ROOT / top).glob("*/Cargo.toml")
    }
    assert set(lines) == set(manifests)
    for crate, manifest in manifests.items():
        used = {
            name.removeprefix("seekwise-") for name in manifest.get("dependencies", {}) if name.startswith("seekwise-")
        }
        said = set(re.findall(r"`(\w+)`", lines[crate]))
        if "all above" in lines[crate]:
            said = set(list(lines)[: list(lines).index(crate)])
        assert used <= said, f"{crate} uses {sorted(used - said)}, which crates/README.md does not say"


@cache
@cache
def imports_of(package: str) -> set[str]:
    """Packages and modules of Seekwise that a package's files import, wherever in the file, types apart."""
    folder = SEEKWISE / package
    files = folder.rglob("*.py") if folder.is_dir() else [folder.with_suffix(".py")]
    return {name for path in files for name in _imported(ast.parse(path.read_text(encoding="utf-8")))} - {
        package,
        "_core",
    }


def _imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        return set()
    if isinstance(node, ast.ImportFrom) and node.module == "seekwise":
        return {name.name for name in node.names}
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("seekwise."):
        return {str(node.module).split(".")[1]}
    if isinstance(node, ast.Import):
        return {name.name.split(".")[1] for name in node.names if name.name.startswith("seekwise.")}
    return {name for child in ast.iter_child_nodes(node) for name in _imported(child)}


def test_packages_import_only_those_above_them_in_the_map() -> None:
    order = {name: place for place, name in enumerate(rows_of_packages())}
    upwards = {
        (package, used) for package in order for used in imports_of(package) if order.get(used, -1) > order[package]
    }
    assert upwards == set(), "imports against the order of ARCHITECTURE.md, 'The packages'"


ROOMS_MOST = 14
FLOORS_MOST = 7


def test_the_house_stays_small():
    """Rooms are folders; a room stands one floor above the highest of those that it uses."""
    rooms = [name for name in rows_of_packages() if (SEEKWISE / name).is_dir()]
    floors: dict[str, int] = {}
    for room in rooms:
        floors[room] = 1 + max((floors[used] for used in imports_of(room) & set(floors)), default=0)
    assert len(rooms) <= ROOMS_MOST
    assert max(floors.values()) <= FLOORS_MOST


HEADER_LINES = range(7, 26)


def test_each_room_says_what_it_holds_what_it_uses_and_where_to_start():
    rooms = [name for name in rows_of_packages() if (SEEKWISE / name).is_dir()]
    for room in rooms:
        header = ast.get_docstring(ast.parse((SEEKWISE / room / "__init__.py").read_text(encoding="utf-8"))) or ""
        uses = re.search(r"^Uses: (.+)\.$", header, re.MULTILINE)
        assert uses and re.search(r"^Start: \S", header, re.MULTILINE), room
        assert len(header.splitlines()) in HEADER_LINES, room
        said = {"no other room": set(), "every room": set(rooms) - {room}}.get(uses[1], set(uses[1].split(", ")))
        assert imports_of(room) & set(rooms) <= said and (said <= imports_of(room) or room == "cli"), room
        named = {name for name in re.findall(r"(?<![\w/`])([a-z_]+\.py|[a-z_]+/)(?= )", header) if name.islower()}
        assert {name for name in named if not list((SEEKWISE / room).rglob(name.rstrip("/")))} == set(), room


def is_module(dotted: str) -> bool:
    top = {"seekwise_proof": "proof", "seekwise_papers": "papers"}.get(dotted.partition(".")[0], "python")
    path = ROOT / top / dotted.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").exists() or path.with_suffix(".pyi").exists()


def test_each_module_that_is_imported_exists():
    """Imports within functions, too, which no collection of tests would find."""
    missing = []
    for top in ("python", "proof", "papers", "tests", "tools", "benches"):
        for path in (ROOT / top).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                named = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
                named += [each.name for each in node.names] if isinstance(node, ast.Import) else []
                missing += [f"{path}: {name}" for name in named if name.startswith("seekwise") and not is_module(name)]
    assert missing == []


def names_that_do_not_exist(source: str) -> list[str]:
    """What a file imports from a module of the package that has no such name."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("seekwise"):
            module = importlib.import_module(str(node.module))
            found += [
                f"{node.module}.{each.name}"
                for each in node.names
                if not hasattr(module, each.name) and not is_module(f"{node.module}.{each.name}")
            ]
    return found


@pytest.mark.parametrize("top", ["tools", "benches"])
def test_each_name_that_a_tool_imports_exists(top):
    """No test runs all of them, so nothing else would see that a name has moved."""
    files = sorted((ROOT / top).rglob("*.py"))
    assert files
    wrong = [f"{path}: {name}" for path in files for name in names_that_do_not_exist(path.read_text(encoding="utf-8"))]
    assert wrong == []


def test_a_name_that_does_not_exist_is_found():
    source = "from seekwise.judge import tables\nfrom seekwise.judge.tables import Winner, Loser\n"
    assert names_that_do_not_exist(source) == ["seekwise.judge.tables.Loser"]


SENTENCE = re.compile(
    r"""\.(?:startswith|endswith|removeprefix|removesuffix)\(\(?f?"[^"\n]*[A-Za-z]{2,} [A-Za-z]{2,}"""
    r"""|"[^"\n]{4,}" (?:not )?in (?:str\()?(?:error|message|reason|said|sentence|text of)\b"""
    r"""|\bin (?:str\()?(?:error|exception|refusal)(?:\)|\.message)"""
)
OF_OTHERS = (
    "linux/",
    "importing/",
    "trace/readers/",
    "measure/kernel/environment.py",
    "measure/kernel/fio.py",
    "measure/live/fio_load.py",
)
"""What the kernel or another program prints has to be read as text."""
NO_SENTENCES = {'each = self.size_bytes(own, 1 << 62) if "size" in said else region'}
"""`said`: the words of a job file."""


def test_no_decision_is_read_out_of_a_sentence_of_ours():
    found = []
    for path in sorted((ROOT / "python/seekwise").rglob("*.py")):
        place = str(path.relative_to(ROOT / "python/seekwise"))
        if place.startswith(OF_OTHERS):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if SENTENCE.search(line) and line.strip() not in NO_SENTENCES:
                found.append(f"{place}:{number}: {line.strip()}")
    assert not found, "\n".join(found)


def test_no_test_is_excused_after_the_fact():
    imperative = "pytest." + "xfail("
    assert not [path for path in (ROOT / "tests").rglob("*.py") if imperative in path.read_text(encoding="utf-8")]


def test_no_function_is_longer_than_sixty_lines():
    long = {
        f"{path.relative_to(SEEKWISE)} {node.name}"
        for path in SEEKWISE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 60
    }
    assert long == set()


def public_functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """At the top of a module and in its public classes, under conditions as well; not those within functions."""
    for each in ast.iter_child_nodes(node):
        if getattr(each, "name", "").startswith("_"):
            continue
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            yield each
        else:
            yield from public_functions(each)


def without_docstring(source: str) -> list[str]:
    return [
        f"{each.lineno} {each.name}"
        for each in public_functions(ast.parse(source))
        if not (ast.get_docstring(each) or "").strip()
    ]


def test_each_public_function_has_a_docstring_where_ruff_looks_away_too():
    """Ruff's D102 and D103 skip modules named `_….py`, and what `__all__` does not list."""
    found = {
        f"{path.relative_to(SEEKWISE)}:{each}"
        for path in SEEKWISE.rglob("*.py")
        for each in without_docstring(path.read_text(encoding="utf-8"))
    }
    assert found == set()


def test_a_public_function_without_docstring_is_found_under_conditions_and_in_classes():
    source = (
        "if x:\n    def a(): ...\nclass B:\n    async def c(self):\n        ' '\n"
        "class _D:\n    def e(self): ...\ndef _f(): ...\ndef g():\n    'Seconds.'\n    def h(): ...\n"
    )
    assert without_docstring(source) == ["2 a", "4 c"]


def test_no_module_is_longer_than_six_hundred_lines():
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in SEEKWISE.rglob("*.py")}
    assert {path.name: lines for path, lines in sizes.items() if lines > 600} == {}


CRATE_SOURCES = sorted([*(ROOT / "crates").glob("*/src"), *(ROOT / "proof/crates").glob("*/src")])


@pytest.mark.parametrize("source", CRATE_SOURCES, ids=[source.parent.name for source in CRATE_SOURCES])
def test_no_modules_of_a_crate_use_each_other_in_a_circle(source: Path) -> None:
    assert ["::".join(module) for circle in circles_of_crate(source) for module in circle] == []


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
    assert circles_of_crate(tmp_path) == [[("cost",), ("storage", "md")], [("cost",), ("storage",)]]
    (tmp_path / "storage/md.rs").write_text("fn time() {}  // once crate::cost\n", encoding="utf-8")
    assert circles_of_crate(tmp_path) == []


RUST_FILES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (ROOT / "crates").glob("*/src/**/*.rs")
    if path.name != "tests.rs"
}


def test_no_rust_function_is_longer_than_sixty_lines() -> None:
    long = {
        f"{name} {function}": lines
        for name, text in RUST_FILES.items()
        for function, lines in functions_of(text)
        if lines > 60
    }
    assert long == {}


def test_no_rust_file_is_longer_than_six_hundred_lines() -> None:
    assert {name: lines_of(text) for name, text in RUST_FILES.items() if lines_of(text) > 600} == {}


def test_lines_of_rust_functions_are_counted() -> None:
    body = "".join(f"        step({number});\n" for number in range(60))
    method = f"impl Engine {{\n    pub(crate) fn run(&mut self) {{\n{body}    }}\n\n    fn none() {{}}\n}}\n"
    tests = "#[cfg(test)]\nmod tests {\n    fn long() {\n" + body + "    }\n}\n"
    assert list(functions_of(method + tests)) == [("run", 62)]
    assert lines_of(method + tests) == len(method.splitlines())


def test_every_public_rust_function_has_a_doc_comment() -> None:
    assert {name: names for name, text in RUST_FILES.items() if (names := list(undocumented(text)))} == {}


def test_public_rust_functions_without_a_doc_comment_are_found() -> None:
    attributes = "    #[inline]\n    #[allow(\n        dead_code\n    )]\n"
    documented = f"impl Engine {{\n    /// What.\n{attributes}    pub const fn one() {{}}\n"
    bare = f"{attributes}    pub const fn two() {{}}\n    // Why.\n    pub unsafe fn three() {{}}\n"
    unseen = "    pub(crate) fn four() {}\n    fn five() {}\n}\n\n#[cfg(test)]\nmod tests {\n    pub fn six() {}\n}\n"
    assert list(undocumented(documented + bare + unseen)) == ["two", "three"]
