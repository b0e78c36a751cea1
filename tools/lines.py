"""Lines of code by distribution, without tests, examples, comments, docstrings and blank lines: `python tools/lines.py [--rooms]`.

`--check` fails where a room stands above its ceiling in `tools/ceilings.md`: an addition brings its removal, and a ceiling that is raised says there what
users got for it and what went.

Counted are the files that git tracks. Tests stand in folders `tests/`, in files `tests.rs`, and in a module under `#[cfg(test)]` at the end of a
Rust file. Lines are a symptom: what counts is how many concepts there are.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
CEILINGS = ROOT / "tools/ceilings.md"
LEFT_OUT = re.compile(r"(^|/)(tests|examples|benches)/|(^|/)tests\.rs$")
TOPS = {"python": "product", "crates": "product", "proof": "proof", "papers": "papers"}
RUST_TESTS = re.compile(r"^#\[cfg\(test\)\]\s*mod \w+ \{$", re.MULTILINE)
NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def python_lines(text: str) -> int:
    """Lines that hold code; a string that stands alone as a statement is a docstring."""
    found: set[int] = set()
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in NOT_CODE:
            begins = begins or token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
            continue
        if not (begins and token.type == tokenize.STRING):
            found.update(range(token.start[0], token.end[0] + 1))
        begins = False
    return len(found)


def rust_lines(text: str) -> int:
    """Lines that hold code."""
    tests = RUST_TESTS.search(text)
    text = re.sub(r"/\*.*?\*/", "", text[: tests.start()] if tests else text, flags=re.DOTALL)
    return sum(bool(line.strip()) and not line.strip().startswith("//") for line in text.splitlines())


def counted() -> dict[str, Counter[str]]:
    """{distribution and language: {room: lines}}; a room is a crate, or a folder or module of a package."""
    tracked = subprocess.run(["git", "ls-files", "-z", *TOPS], cwd=ROOT, capture_output=True, check=True)
    found: dict[str, Counter[str]] = {}
    for name in tracked.stdout.decode().split("\0"):
        path = ROOT / name
        kind = {".py": "Python", ".rs": "Rust"}.get(path.suffix)
        if kind is None or LEFT_OUT.search(name) or not path.is_file():
            continue
        lines = (python_lines if kind == "Python" else rust_lines)(path.read_text(encoding="utf-8"))
        by_room = found.setdefault(f"{TOPS[name.split('/')[0]]} {kind}", Counter())
        by_room[room(name)] += lines
    return found


def room(name: str) -> str:
    """`judge` of `python/seekwise/judge/rule.py`, `sched` of `crates/sched/src/lib.rs`."""
    parts = name.removeprefix("proof/").removeprefix("papers/").split("/")
    place = 1 if parts[0] == "crates" or len(parts) < 3 else 2 if parts[0] == "python" else 1
    return parts[min(place, len(parts) - 1)].removesuffix(".py")


def ceilings() -> dict[str, int]:
    """{`product Python/judge`: most lines}, the rows of `tools/ceilings.md`."""
    rows = re.findall(r"^\| ([\w /]+?) +\| +([\d,]+) +\|", CEILINGS.read_text(encoding="utf-8"), re.MULTILINE)
    return {name: int(most.replace(",", "")) for name, most in rows}


def above(found: dict[str, Counter[str]], most: dict[str, int]) -> list[str]:
    """A sentence for each room above its ceiling, and for each that has none. A room of `others` has no row of its own."""
    said = []
    for part in sorted({name.partition("/")[0] for name in most}):
        rooms = {name.partition("/")[2] for name in most if name.startswith(f"{part}/")}
        lines = Counter({"others": 0})
        for place, count in found.get(part, Counter()).items():
            lines[place if place in rooms else "others"] += count
        said += [
            f"{part}/{place} has {count:,} lines, {count - most.get(f'{part}/{place}', 0):,} above its ceiling"
            for place, count in sorted(lines.items())
            if count > most.get(f"{part}/{place}", 0)
        ]
    return said


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rooms", action="store_true", help="a line for each crate and package as well")
    parser.add_argument("--check", action="store_true", help="fail where a room is above its ceiling")
    arguments = parser.parse_args()
    if arguments.check:
        said = above(counted(), ceilings())
        print(
            "\n".join(
                [*said, "take as much away, or raise its row in tools/ceilings.md with a reason"]
                if said
                else ["every room is below its ceiling"]
            )
        )
        return bool(said)
    rooms = arguments.rooms
    for name, by_room in sorted(counted().items(), reverse=True):
        print(f"{name:16}{by_room.total():7,}")
        for place, lines in by_room.most_common() if rooms else ():
            print(f"  {place:16}{lines:7,}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
