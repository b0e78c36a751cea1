"""Lines of code, without tests, examples, comments, docstrings and blank lines: `python tools/lines.py [--rooms]`.

Counted are `python/` and `crates/`, as git tracks them. Of a Rust file the module under `#[cfg(test)]` and everything after it are left out, as tests
stand at its end, and files named `tests.rs`. Lines are a symptom: what counts is how many concepts there are.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
LEFT_OUT = re.compile(r"(^|/)((tests|examples|benches)/|tests\.rs$)")
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
    """{language: {room: lines}}; a room is a crate, or a folder or module of the package."""
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "python", "crates", "papers", "lab"], cwd=ROOT, capture_output=True, check=True
    )
    found: dict[str, Counter[str]] = {"Python": Counter(), "Rust": Counter()}
    for name in tracked.stdout.decode().split("\0"):
        path = ROOT / name
        if LEFT_OUT.search(name) or not path.is_file():
            continue
        parts = name.split("/")
        if name.endswith(".py"):
            room = parts[2] if name.startswith("python/") and len(parts) > 2 else parts[0]
            found["Python"][room.removesuffix(".py")] += python_lines(path.read_text(encoding="utf-8"))
        elif name.endswith(".rs"):
            found["Rust"][parts[1]] += rust_lines(path.read_text(encoding="utf-8"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rooms", action="store_true", help="a line for each crate and package as well")
    rooms = parser.parse_args().rooms
    for language, by_room in counted().items():
        print(f"{language:8}{by_room.total():7,}")
        for room, lines in by_room.most_common() if rooms else ():
            print(f"  {room:16}{lines:7,}")


if __name__ == "__main__":
    main()
