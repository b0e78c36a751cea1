"""Percentiles from histograms, merged within one run.

A percentile of a run is taken from all its operations together: bins of all jobs are added, then the rank is looked up.
Percentiles of jobs or of runs are never averaged into one. The answer is the upper bound of the bin that holds the rank
(nearest rank), so it is at most one bin width too high and never too low.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache

TAIL_OPERATIONS_MIN = 20
"""A percentile needs this many operations beyond it: N (1 − p) ≥ 20. With fewer, the figure is one request's luck."""
LISTED = (1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99)


def merged(histograms: Iterable[Mapping[int, int]]) -> dict[int, int]:
    """One histogram {upper bound in ns: count} from several with equal or different bounds."""
    total: dict[int, int] = {}
    for histogram in histograms:
        for bound_ns, count in histogram.items():
            total[bound_ns] = total.get(bound_ns, 0) + count
    return dict(sorted(total.items()))


def is_supported(operations: int, percent: float) -> bool:
    """Whether so many operations say anything about this percentile: enough of them lie beyond it, on either side."""
    return operations >= _operations_min(percent)


@cache
def _operations_min(percent: float) -> float:
    # Exact: 2000 × (1 − 0.99) is 20, which floating point does not know.
    beyond = min(_exactly(percent), 100 - _exactly(percent))
    return math.ceil(100 * TAIL_OPERATIONS_MIN / beyond) if beyond > 0 else math.inf


@cache
def _exactly(percent: float) -> Fraction:
    return Fraction(str(percent))


def percentile_ns(histogram: Mapping[int, int], percent: float) -> int | None:
    """Nearest-rank percentile, or None without operations."""
    operations = sum(histogram.values())
    if operations <= 0:
        return None
    # ceil(p N), at least the first operation; exact for the same reason as above.
    rank = max(1, -int(-(_exactly(percent) * operations) // 100))
    seen = 0
    for bound_ns in sorted(histogram):
        seen += histogram[bound_ns]
        if seen >= rank:
            return bound_ns
    return None


def percentiles(histogram: Mapping[int, int], wanted: Iterable[float] = LISTED) -> dict[str, int]:
    """{percent: upper bound of its bin} of those that are supported, and of the median in any case."""
    operations = sum(histogram.values())
    return {
        f"{percent:g}": value
        for percent in wanted
        if (percent == 50.0 or is_supported(operations, percent))
        and (value := percentile_ns(histogram, percent)) is not None
    }
