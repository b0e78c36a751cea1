"""Real programs that no use of `tune` contains, each under every scheduler, set beside what `tune` stated for the nearest use.

python benches/programs.py list
sudo python benches/programs.py measure /srv --results programs.json --piece 7m     # again and again until nothing is left
python benches/programs.py page --results programs.json --stated tune-2m.json --stated tune-5m.json > page.md
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from real_programs import page, rounds
from real_programs.loads import PROGRAMS

from seekwise.control import recovery
from seekwise.errors import SeekwiseError
from seekwise.workload.study.quantity import parse_seconds


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = asked.add_subparsers(dest="way", required=True)
    ways.add_parser("list", help="the programs, and what is not installed")
    measure = ways.add_parser("measure", help="one piece; results are added to the file")
    measure.add_argument("folder", type=Path, help="on the storage to be measured")
    measure.add_argument("--results", type=Path, required=True)
    measure.add_argument("--only", default=",".join(PROGRAMS), help="programs, separated by commas")
    measure.add_argument("--mode", choices=rounds.MODES, action="append", help="both by default")
    measure.add_argument("--piece", default="7m", help="end after this long")
    measure.add_argument("--case", default="5m", help="most measuring time of one program in one mode")
    shown = ways.add_parser("page", help="the page in Markdown, on standard output")
    shown.add_argument("--results", type=Path, required=True)
    shown.add_argument("--stated", type=Path, action="append", default=[], help="output of `tune --json`")
    shown.add_argument("--history", type=Path, help="Markdown that the page ends with: what missed before, and why")
    words = asked.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if words.way == "list":
        for program in PROGRAMS.values():
            missing = program.missing()
            print(f"{program.name:12} {program.title}{' – not installed: ' + ', '.join(missing) if missing else ''}")
        return 0
    if words.way == "page":
        print(page.text(words.results, words.stated, words.history), end="")
        return 0
    only = words.only.split(",")
    if unknown := set(only) - set(PROGRAMS):
        asked.error(f"no program is called {unknown.pop()}: {', '.join(PROGRAMS)}")
    recovery.at_start(rounds.say)
    try:
        rounds.measure(
            rounds.Asked(words.results, words.folder, only, words.mode or rounds.MODES,
                         parse_seconds(words.piece), parse_seconds(words.case))
        )  # fmt: skip
    except SeekwiseError as error:
        print(f"error: {error.message}" + (f" ({error.hint})" if error.hint else ""), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
