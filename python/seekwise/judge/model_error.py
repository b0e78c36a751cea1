"""How far simulated figures are off, by kind: a smaller difference between two settings is not told from the model's
own error.

Nine of ten simulated values lie within these shares of what the kernel that is simulated gave for the same load on the
same modelled storage: the check `ladder`, some 500 combinations, kept in docs/figures.json of the source (`ladder`,
`agreement`, `p90_error`).
"""

from __future__ import annotations

OF_THROUGHPUT, OF_TIME, OF_TAIL = 0.0441, 0.0426, 0.349
BY_KIND = {
    "rate": OF_THROUGHPUT,
    "done": OF_THROUGHPUT,
    "background_rate": OF_THROUGHPUT,
    "access_time": OF_TIME,
    "mean": OF_TIME,
    "p50": OF_TIME,
    "time": OF_TIME,
    "p99": OF_TAIL,
    "p999": OF_TAIL,
    "tail": OF_TAIL,
}


def model_error(kind: str) -> float:
    """As a share; 0 for kinds of figures whose error was never seen."""
    return BY_KIND.get(kind, 0.0)
