"""What is found in fleets whose noise is not normal: synthetic fleets by family of noise, with what was planted and what was named.

python benches/fleets.py [--fleets 20] [--hosts 500] [--trials 2] [--slow 0.3] [--slow-hosts 1] [--family t3 …] [--confounded]

Each host has two devices of two models, each device two loads under two settings. Standard deviations of logarithms: 3 % between devices, 2 %
between loads of a device, 5 % between trials. A kernel is 10 % slower on one model, a firmware 8 % slower on the other.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import dataclass, field

import numpy as np

from seekwise.report.fleet.rows import FleetSums, LogSums, Unit
from seekwise.report.fleet.unlike import unlike

DEVICE_SD, LOAD_SD, TRIAL_SD = 0.03, 0.02, 0.05
SETTINGS = {"none": 0.0, "mq-deadline": 0.08}
LOADS = ("rand_read use=database", "seq_write use=backup")
KERNELS, KERNEL_SHARES = ("6.1.0-21", "6.1.0-25", "6.8.0-1"), (0.5, 0.3, 0.2)
FIRMWARES, FIRMWARE_SHARES = ("SN04", "SN05"), (0.7, 0.3)
MODELS = {"sda": "SSD Fast 960", "sdb": "HDD Large 18T"}
FAMILIES = (
    "normal", "t3", "t5", "lognormal", "contaminated", "revisions-half", "revisions-tenth", "loads-differ", "t3-loads", "t3-trials",
    "slow-trials",
)  # fmt: skip


@dataclass
class Fleet:
    summary: FleetSums
    wanted: set[tuple[str, str]] = field(default_factory=set)


def own(family: str, chosen: np.random.Generator, size: int) -> np.ndarray:
    """Logarithms of the devices' own speeds."""
    if family in ("t3", "t5"):
        freedom = int(family[1:])
        return DEVICE_SD * chosen.standard_t(freedom, size) / math.sqrt(freedom / (freedom - 2))
    if family == "lognormal":
        # Skewed to the slow side, with its own standard deviation and a mean of nothing.
        shape = 0.8
        raw = chosen.lognormal(0, shape, size) - math.exp(shape**2 / 2)
        return -DEVICE_SD * raw / math.sqrt((math.exp(shape**2) - 1) * math.exp(shape**2))
    if family == "contaminated":
        return chosen.normal(0, np.where(chosen.random(size) < 0.05, 3.0, 1.0) * DEVICE_SD)
    if family.startswith("revisions"):
        share = 0.5 if family == "revisions-half" else 0.1
        return chosen.normal(0, 0.01, size) + np.log(0.94) * (chosen.random(size) < share)
    return chosen.normal(0, DEVICE_SD, size)


def of_load(family: str, chosen: np.random.Generator, load: int, size: int) -> np.ndarray:
    if family == "loads-differ":
        return chosen.normal(0, (0.01, 0.08)[load], size)
    if family == "t3-loads":
        return LOAD_SD * 2 * chosen.standard_t(3, size) / math.sqrt(3)
    return chosen.normal(0, LOAD_SD, size)


def of_trials(family: str, chosen: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    if family == "t3-trials":
        return TRIAL_SD * chosen.standard_t(3, shape) / math.sqrt(3)
    found = chosen.normal(0, TRIAL_SD, shape)
    if family == "slow-trials":
        # One trial in a hundred met something else on the machine.
        found += np.log(1 / 3) * (chosen.random(shape) < 0.01)
    return found


def fleet(
    family: str,
    hosts: int,
    seed: int,
    *,
    trials: int = 2,
    slow: float = 0.3,
    slow_hosts: int = 1,
    confounded: bool = False,
) -> Fleet:
    """A fleet with `slow_hosts` disks slower by the share `slow`, a slower kernel and a slower firmware (`confounded`: always together)."""
    chosen = np.random.default_rng(seed)
    kernels = chosen.choice(len(KERNELS), hosts, p=KERNEL_SHARES)
    bad = set(chosen.choice(hosts, slow_hosts, replace=False).tolist())
    found = Fleet(FleetSums(), {("sdb", f"host{number}") for number in bad})
    for device, model in MODELS.items():
        firmwares = (kernels == 2).astype(int) if confounded else chosen.choice(2, hosts, p=FIRMWARE_SHARES)
        speed = own(family, chosen, hosts)
        if device == "sda":
            speed += np.log(0.9) * (kernels == 2)
        else:
            speed += np.log(0.92) * (firmwares == 1)
            speed[list(bad)] += math.log(1 - slow)
        for place, load in enumerate(LOADS):
            under = speed + of_load(family, chosen, place, hosts)
            rate = under[:, None, None] + np.array(list(SETTINGS.values()))[:, None]
            shape = (hosts, len(SETTINGS), trials)
            logs = {
                "rate": 18 + rate + of_trials(family, chosen, shape),
                "p99": 15 - rate - of_trials(family, chosen, shape),
            }
            for number in range(hosts):
                unit = Unit(
                    f"host{number}", device, model, FIRMWARES[firmwares[number]], KERNELS[kernels[number]], "single"
                )
                for at, setting in enumerate(SETTINGS):
                    for metric, values in logs.items():
                        each = values[number, at]
                        found.summary.sums[unit, load, setting, metric] = LogSums(
                            trials, float(each.sum()), float((each**2).sum())
                        )
    found.wanted |= changes_wanted(hosts, confounded)
    return found


def changes_wanted(hosts: int, confounded: bool) -> set[tuple[str, str]]:
    """Kernel and firmware that a fleet of this size can show: those of small fleets are planted, but too few to be asked for."""
    if hosts < 200:
        return set()
    return {("kernel", KERNELS[2])} | (set() if confounded else {("firmware", FIRMWARES[1])})


def named(summary: FleetSums) -> set[tuple[str, str]]:
    outliers, changes = unlike(summary)
    return {(each.device, each.host) for each in outliers} | {(each.part, each.value) for each in changes}


def planted(found: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Of what was named, what is true whether it had to be found or not."""
    return found & {("kernel", KERNELS[2]), ("firmware", FIRMWARES[1])}


def main() -> int:
    asked = argparse.ArgumentParser()
    asked.add_argument("--fleets", type=int, default=20)
    asked.add_argument("--hosts", type=int, default=500)
    asked.add_argument("--trials", type=int, default=2)
    asked.add_argument("--slow", type=float, default=0.3)
    asked.add_argument("--slow-hosts", type=int, default=1)
    asked.add_argument("--confounded", action="store_true")
    asked.add_argument("--family", nargs="*", default=list(FAMILIES), choices=FAMILIES)
    words = asked.parse_args()
    print(f"{'noise':<16}{'slow disks':>12}{'changes':>10}{'false':>8}{'most':>6}{'>1 in':>7}{'s':>7}")
    for family in words.family:
        began = time.monotonic()
        disks = changes = false = most = over = 0
        disks_of = changes_of = 0
        for seed in range(words.fleets):
            made = fleet(
                family, words.hosts, 1000 + seed, trials=words.trials, slow=words.slow, slow_hosts=words.slow_hosts, confounded=words.confounded
            )  # fmt: skip
            found = named(made.summary)
            hit = made.wanted & found
            disks += sum(key[0] == "sdb" for key in hit)
            disks_of += words.slow_hosts
            changes += sum(key[0] != "sdb" for key in hit)
            changes_of += len(made.wanted) - words.slow_hosts
            wrong = len(found - made.wanted - planted(found))
            false, most, over = false + wrong, max(most, wrong), over + (wrong > 1)
        print(
            f"{family:<16}{f'{disks}/{disks_of}':>12}{f'{changes}/{changes_of}':>10}{false / words.fleets:>8.2f}{most:>6}{over:>7}"
            f"{(time.monotonic() - began) / words.fleets:>7.2f}"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
