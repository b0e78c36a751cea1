"""Golden results of the simulator: the same trials before and after a change of the engine give the same bits.

    cargo build --release --package seekwise-validate --features examples --example trials PROGRAM: target/release/examples/trials
    .venv/bin/python tools/golden.py collect FOLDER           the trials of every shipped study and verification, and random ones of their parts
    .venv/bin/python tools/golden.py record FOLDER PROGRAM    what the engine gives for them now
    .venv/bin/python tools/golden.py check FOLDER PROGRAM     the trials whose results differ from the recorded ones; status 5 if there are any

FOLDER lies outside the repository. `collect` runs the program's own commands and keeps what they hand to the compiled simulator: of each command
PER_SOURCE trials, drawn evenly and without replacement from the different ones that it makes (seed 20), so that no study outweighs another.
WHOLE of them keep their length, the others are cut to LIMITS, or comparing them would take an hour: a run of minutes passes through the same
code as its first second. A random trial takes some of its fields from other trials of its kind, so that features meet that no study combines.

`check` compares every trial of FOLDER, none is left out; what it prints last is how many those were, and of how many they were drawn.
"""

from __future__ import annotations

import copy
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seekwise import _core

ROOT = Path(__file__).parents[1]
PER_SOURCE = 60
WHOLE = 3
"""Trials of each command at full length."""
RANDOM = 300
OF_ITS_OWN = 0.7
"""Share of a random trial's fields that stay as they are."""
LIMITS = {"ios": 20_000, "runtime_ns": 400_000_000, "file_bytes": 8 << 20, "span_ns": 400_000_000}
"""Of a shortened trial."""
ERROR = '"error"'
KINDS = {"cell": "simulate_cells"}


def collect(folder: Path) -> None:
    kept: dict[str, dict[str, list[dict]]] = {}
    source = ""

    def watched(kind: str, real: Callable[..., str]) -> Callable[..., str]:
        def call(specs: str, *rest: Any) -> str:
            kept.setdefault(source, {}).setdefault(kind, []).extend(json.loads(specs))
            return real(specs, *rest)

        return call

    for kind, name in KINDS.items():
        setattr(_core, name, watched(kind, getattr(_core, name)))

    from click.testing import CliRunner

    from seekwise.cli.main import cli

    os.environ.update(SEEKWISE_DB=str(folder / "collect.db"), SEEKWISE_STATE=str(folder / "state"))
    studies = sorted(
        path for folder in ("", "ladder", "published") for path in (ROOT / "studies" / folder).glob("*.toml")
    )
    commands = [
        ["run", str(path), "--backend", "simulated", "--budget", "1m", "--seed", seed]
        for path in studies
        for seed in ("1", "77")
    ]
    commands += [["verify", "ladder", str(path)] for path in sorted((ROOT / "tests/vectors/ladder").glob("*.csv"))]
    commands += [["verify", "verdicts"], ["verify", "claims"], ["run", "demo", "--seed", "3"]]
    for command in commands:
        source = " ".join(command).replace(str(ROOT) + "/", "")
        began = time.monotonic()
        outcome = CliRunner().invoke(cli, command)
        counts = {kind: len(specs) for kind, specs in kept.get(source, {}).items()}
        print(f"{time.monotonic() - began:7.1f} s  status {outcome.exit_code}  {counts}  {source}", flush=True)
        (folder / "kept.json").write_text(json.dumps(kept))


def thin(folder: Path) -> None:
    kept = json.loads((folder / "kept.json").read_text())
    chance = random.Random(20)
    trials: dict[str, tuple[str, dict]] = {}
    made = 0
    for of_source in kept.values():
        for kind, specs in of_source.items():
            unique = {json.dumps(spec, sort_keys=True): spec for spec in specs}
            made += len(unique)
            for place, key in enumerate(chance.sample(sorted(unique), min(PER_SOURCE, len(unique)))):
                spec = unique[key] if place < WHOLE else shortened(unique[key])
                trials[f"{kind} {json.dumps(spec, sort_keys=True)}"] = (kind, spec)
    given = list(trials.values())
    for kind in KINDS:
        of_kind = [spec for other, spec in given if other == kind]
        for _ in range(RANDOM if of_kind else 0):
            spec = shortened(mixed(chance.choice(of_kind), of_kind, chance))
            trials[f"{kind} {json.dumps(spec, sort_keys=True)}"] = (kind, spec)
    lines = [json.dumps({kind: spec}) for kind, spec in trials.values()]
    tables = sorted((ROOT / "tests/vectors/machine").glob("*.csv"))
    lines += [json.dumps({"rates": [path.read_text(), seed]}) for path in tables for seed in (1, 2)]
    (folder / "trials.jsonl").write_text("\n".join(lines) + "\n")
    drawn = f"{len(given)} trials drawn from {made} of commands, {len(trials) - len(given)} random ones, {2 * len(tables)} tables"
    (folder / "drawn.txt").write_text(drawn + "\n")
    print(drawn)


def mixed(spec: dict, others: list[dict], chance: random.Random) -> dict:
    made = copy.deepcopy(spec)
    made["seed"] = chance.randrange(1 << 32)
    _mix(made, lambda: chance.choice(others), chance)
    return made


def _mix(into: dict, other: Callable[[], Any], chance: random.Random) -> None:
    for key in list(into):
        given = other()
        there = given.get(key) if isinstance(given, dict) else None
        if isinstance(into[key], dict) and isinstance(there, dict):
            _mix(into[key], lambda there=there: there, chance)
        elif isinstance(given, dict) and key in given and chance.random() > OF_ITS_OWN and key != "seed":
            into[key] = copy.deepcopy(there)


def shortened(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _short(key, shortened(each)) for key, each in value.items()}
    return [shortened(each) for each in value] if isinstance(value, list) else value


def _short(key: str, value: Any) -> Any:
    return min(value, LIMITS[key]) if key in LIMITS and isinstance(value, int) else value


def results(folder: Path, program: str) -> list[str]:
    return subprocess.run(
        [program, folder / "trials.jsonl"], check=True, capture_output=True, text=True
    ).stdout.splitlines()


def check(folder: Path, program: str) -> int:
    trials = (folder / "trials.jsonl").read_text().splitlines()
    before, found = (folder / "golden.txt").read_text().splitlines(), results(folder, program)
    differing = [place for place, (was, now) in enumerate(zip(before, found, strict=True)) if was != now]
    for place in differing[:10]:
        at = next(
            at
            for at, (was, now) in enumerate(zip(before[place] + "\0", found[place] + "\1", strict=False))
            if was != now
        )
        at = max(0, at - 80)
        print(f"\n{trials[place][:1200]}\n  was …{before[place][at : at + 200]}\n  is  …{found[place][at : at + 200]}")
    drawn = (folder / "drawn.txt").read_text().strip()
    print(f"{len(before) - len(differing)} of {len(before)} results are the same to the bit ({drawn})")
    return 5 if differing else 0


def main() -> int:
    action, folder = sys.argv[1], Path(sys.argv[2])
    if action == "collect":
        collect(folder)
        thin(folder)
    elif action == "thin":
        thin(folder)
    elif action == "record":
        found = results(folder, sys.argv[3])
        (folder / "golden.txt").write_text("\n".join(found) + "\n")
        print(f"{len(found)} results recorded, {sum(ERROR in line for line in found)} of them errors")
    else:
        return check(folder, sys.argv[3])
    return 0


if __name__ == "__main__":
    sys.exit(main())
