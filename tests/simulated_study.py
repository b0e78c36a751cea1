"""A small simulated study as text, for tests that need one and do not care which."""

from __future__ import annotations

TEXT = """
name = "{name}"
backend = "simulated"
[[system]]
name = "one"
drive = "wd2500ys"
[settings]
scheduler = {schedulers}
[[workload]]
operations = {operations}
threads = {threads}
random_ios = {ios}
direct = true
size = "{size}"
[design]
blocks = {blocks}
"""


def text(
    *,
    name: str = "small",
    schedulers: tuple[str, ...] = ("none", "mq-deadline", "bfq"),
    operations: tuple[str, ...] = ("rand_read",),
    threads: tuple[int, ...] = (1, 4),
    ios: int = 100,
    size: str = "64m",
    repetitions: int = 4,
) -> str:
    return TEXT.format(
        name=name, schedulers=list(schedulers), operations=list(operations), threads=list(threads), ios=ios, size=size, blocks=repetitions
    )  # fmt: skip
