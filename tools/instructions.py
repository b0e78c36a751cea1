"""Instructions per simulated I/O of the cases of `seekwise bench`: `python tools/instructions.py [--write]`.

Time is noise on a shared machine, a count of instructions is not: valgrind's callgrind counts those of a short and of a long run, and what the
longer one takes more is what its further I/Os cost. The table is `benches/instructions.toml`; a case that takes 3 % more than there fails, one
that takes 3 % less wants the table written anew, so that the next rise is seen. Counts depend on the compiler: with another one than the
table names nothing is compared.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "benches/instructions.toml"
PROGRAM = ROOT / "target/release/examples/speed"
BUILD = ["cargo", "build", "--quiet", "--release", "--package", "seekwise-validate", "--features", "examples"]
CASES = (
    "hdd-deadline", "hdd-noop", "hdd-cfq", "hdd-bfq", "hdd-kyber", "ssd-mq-deadline", "nvme-none", "null-none",
    "cores-none", "cores-mq-deadline", "raid5-read", "raid5-write", "raid5-mixed",
)  # fmt: skip
SHORT_IOS, LONG_IOS = 20_000, 60_000
TOLERANCE = 0.03


def compiler() -> str:
    """`rustc 1.95.0`."""
    return " ".join(
        subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True).stdout.split()[:2]
    )


def counted(case: str, ios: int) -> tuple[int, int]:
    """(I/Os that the run had, instructions of the whole process)."""
    with tempfile.NamedTemporaryFile() as out:
        words = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", str(PROGRAM), case, str(ios), "1"]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    had, instructions = re.search(r": (\d+) ios", done.stdout), re.search(r"Collected : (\d+)", done.stderr)
    assert had and instructions, done.stdout + done.stderr
    return int(had[1]), int(instructions[1])


def per_io(case: str) -> float:
    """Instructions of one further I/O."""
    (few, short), (many, long) = counted(case, SHORT_IOS), counted(case, LONG_IOS)
    return (long - short) / (many - few)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write the table anew")
    write = parser.parse_args().write
    if shutil.which("valgrind") is None:
        print("instructions: skipped: valgrind is not installed")
        return 0
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    if not write and table["compiler"] != compiler():
        print(f"instructions: skipped: the table is of {table['compiler']}, this is {compiler()}")
        return 0
    subprocess.run([*BUILD, "--example", "speed"], cwd=ROOT, check=True)
    now = {case: round(per_io(case)) for case in CASES}
    if write:
        head = "# Instructions per simulated I/O, written by `python tools/instructions.py --write`.\n"
        rows = "".join(f"{case} = {count}\n" for case, count in now.items())
        TABLE.write_text(f'{head}compiler = "{compiler()}"\n\n[per_io]\n{rows}', encoding="utf-8")
        return 0
    changed = {case: count / table["per_io"][case] - 1 for case, count in now.items()}
    for case, change in changed.items():
        print(f"{case:18}{table['per_io'][case]:7,} → {now[case]:7,}  {change:+.1%}")
    off = [case for case, change in changed.items() if abs(change) > TOLERANCE]
    if off:
        print(
            f"more than {TOLERANCE:.0%} off the table: {', '.join(off)}. Say why in the commit, then `make instructions WRITE=--write`."
        )
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
