"""Who wins where a text prints two values: what counts as a tie, and which way is better."""

from __future__ import annotations

TIE = 0.03
RULE = (
    "mean over the repeats and the thread counts; within 3 % of the greater value, or within the standard error that ticks leave in CPU "
    "efficiency, is a tie"
)
# The printed metric, its name in the language, and whether more of it is better.
METRICS = {"rate": ("rate", True), "access_time": ("access", False), "cpu_efficiency": ("cpueff", True)}


def decide(first: float, second: float, names: tuple[str, str], more_is_better: bool, error: float = 0.0) -> str:
    """`error`: standard error of the difference."""
    if abs(first - second) <= max(TIE * max(first, second), error):
        return "tie"
    return names[0] if (first > second) == more_is_better else names[1]
