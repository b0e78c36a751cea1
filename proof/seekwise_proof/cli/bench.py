"""`seekwise bench`: the simulator's own speed, in simulated operations per CPU second of one core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import click

from seekwise import commands
from seekwise.errors import UsageError
from seekwise_proof import _proof

# Each case in about a second.
IOS_DEFAULT = 4_000_000
IOS_DEFAULT_BY_CASE = {
    "null-none": 20_000_000,
    "hdd-deadline": 10_000_000,
    "raid5-write": 500_000,
    "raid5-mixed": 1_000_000,
}


@dataclass(frozen=True)
class Case:
    """One case of the benchmark."""

    name: str
    ios: int
    cpu_seconds: float
    ios_per_cpu_second: float
    """Simulated I/Os per CPU second of one core."""
    start_cpu_seconds: float
    """CPU seconds before the first request: reading and building."""
    member_requests: int | None
    cost_against_one_drive: float | None


@dataclass(frozen=True)
class Bench:
    """`bench --json`."""

    SCHEMA: ClassVar = "seekwise.bench/1"

    seed: int
    cases: list[Case]


@click.command()
@click.argument("cases", nargs=-1, metavar="[CASE]...")
@click.option("--ios", type=click.IntRange(1, 10**10), help="Operations to simulate in each case.")
@commands.seed("Seed of the addresses.", default=1, show_default=True)
@commands.as_json()
def command(cases: tuple[str, ...], ios: int | None, seed: int, as_json: bool) -> None:
    """Measure the speed of the simulator on this machine.

    Without CASE, every case. Speed is simulated I/Os per CPU second of one core.
    """
    known = _proof.bench_cases()
    for case in cases:
        if case not in known:
            raise UsageError(f"there is no case `{case}`", hint=f"cases: {', '.join(known)}")
    rows = [_row(case, ios or IOS_DEFAULT_BY_CASE.get(case, IOS_DEFAULT), seed) for case in cases or known]
    if as_json:
        commands.echo_json(Bench(seed, rows))
        return
    click.echo(f"{'case':<18}{'I/Os':>12}{'CPU seconds':>14}{'million I/Os per CPU second':>30}")
    for row in rows:
        click.echo(f"{row.name:<18}{row.ios:>12}{row.cpu_seconds:>14.3f}{row.ios_per_cpu_second / 1e6:>30.2f}")
    for row in rows:
        if row.member_requests is not None:
            click.echo(
                f"{row.name}: {row.member_requests} requests to its drives, "
                f"each {row.cost_against_one_drive:.2f} times the cost of one on a drive alone"
            )


def _row(case: str, ios: int, seed: int) -> Case:
    done, cpu_seconds, start_seconds, members = _proof.bench(case, ios, seed)
    requests, cost = members or (None, None)
    return Case(case, done, cpu_seconds, done / cpu_seconds, start_seconds, requests, cost)
