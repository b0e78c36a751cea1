"""The compiled proof: replay, rates of machines, speed. Structured data crosses as JSON text."""

def measure_chain(request_json: str) -> str:
    """Mean time of commands that a drive model gets one after the other: `{"latency_us", "iops"}`, or `{"error"}`, as JSON text.

    `{"model", "parameters", "steps": ["write" | "forced_write" | "flush", …], "block_bytes", "turnaround_ns"}`. Raises ValueError for
    anything else.
    """

def verify_mapping(paths: list[str]) -> str:
    """md's model against recordings of real arrays: `{passed, total, ordered: {passed, total}, files: [...]}` as JSON text."""

def bench_cases() -> list[str]:
    """Names of the simulator's speed cases."""

def bench(case: str, ios: int, seed: int) -> tuple[int, float, float, tuple[int, float] | None]:
    """Runs a speed case on the calling thread: operations simulated, CPU seconds, CPU seconds of building the trial; of an array
    the requests to its drives and the cost of each in that of a request to a drive alone.

    Raises ValueError for a case that does not exist.
    """

def verify_vectors(paths: list[str], options_json: str) -> str:
    """Scheduler models against recordings of real kernels, as JSON text.

    `{passed, total, contested: {passed, total}, met, groups: [...], files: [{file, scheduler, kernel, passed, total, contested,
    misses: [...], error?, look?}]}`. `options_json`: `{"explain": LINE}` gives a `look` at that line of each file.
    """

def verify_machine_rates(text: str, seed: int) -> str:
    """A recorded whole-machine table, simulated row by row: `{passed, total, pairs_passed, pairs_total, median_error, misses}` as JSON text.

    Raises ValueError if the text is no such table.
    """

def verify_core_rates(text: str, seed: int) -> str:
    """A table of schedulers on fast drives with many cores, simulated row by row, as JSON text.

    `{passed, total, orders_passed, orders_total, kinds, points: [{name, kind, passed, measured, simulated}], misses}`.
    Raises ValueError with the line that is wrong.
    """
