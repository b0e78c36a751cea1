"""The helper functions of the language: mean, min, max, spread, abs, slope, r2, rising, falling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

from seekwise_papers.value import Argument, ClaimError, Value, finite, is_number, numbers

# A step against the direction counts when it exceeds 3 %, and so does the whole way in it.
STEP = 0.03


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _spread(values: Sequence[float]) -> float:
    greatest = max(values)
    if greatest == 0:
        raise ClaimError("spread divides by a greatest value of zero")
    return (greatest - min(values)) / greatest


REDUCTIONS: dict[str, Callable[[Sequence[float]], float]] = {"mean": _mean, "min": min, "max": max, "spread": _spread}


def reduced(name: str, args: Sequence[Argument]) -> Value:
    """One list gives a number; several arguments are reduced element by element."""
    function = REDUCTIONS[name]
    lists = [numbers(arg, name) for arg in args]
    if not lists or not all(lists):
        raise ClaimError(f"{name} has no values")
    if len(lists) == 1:
        return finite(function(lists[0]), name)
    lengths = {len(values) for values, arg in zip(lists, args, strict=True) if not is_number(arg)} or {1}
    if len(lengths) > 1:
        raise ClaimError(f"{name} meets lists of {' and '.join(map(str, sorted(lengths)))} values")
    (length,) = lengths
    columns = [values * length if is_number(arg) else values for values, arg in zip(lists, args, strict=True)]
    results = tuple(finite(function(row), name) for row in zip(*columns, strict=True))
    return results[0] if all(is_number(arg) for arg in args) else results


def absolute(args: Sequence[Argument]) -> Value:
    """`abs(list)`."""
    if len(args) != 1:
        raise ClaimError(f"abs takes one argument and got {len(args)}")
    values = tuple(abs(one) for one in numbers(args[0], "abs"))
    return values[0] if is_number(args[0]) else values


def _series(name: str, args: Sequence[Argument]) -> tuple[list[tuple[float, ...]], tuple[float, ...]]:
    """The list cut into series as long as x, and x."""
    if len(args) != 2:
        raise ClaimError(f"{name} takes a list and x, and got {len(args)} arguments")
    values, x = numbers(args[0], name), numbers(args[1], name)
    if len(x) < 2:
        raise ClaimError(f"{name} needs at least two values of x")
    if not values or len(values) % len(x):
        raise ClaimError(f"{name} cannot cut {len(values)} values into series of {len(x)}")
    return [values[at : at + len(x)] for at in range(0, len(values), len(x))], x


def _fit(name: str, figure: Callable[[float, float, float], float], args: Sequence[Argument]) -> Value:
    """A figure of the sums of squares of x, of the values, and of their products, about the means: one per series of
    the length of x."""
    series, x = _series(name, args)
    mx, results = _mean(x), []
    for values in series:
        my = _mean(values)
        xx, yy = sum((a - mx) ** 2 for a in x), sum((b - my) ** 2 for b in values)
        if xx == 0 or (yy == 0 and name == "r2"):
            raise ClaimError(f"{name} over values that do not vary is not finite")
        xy = sum((a - mx) * (b - my) for a, b in zip(x, values, strict=True))
        results.append(finite(figure(xx, yy, xy), name))
    return results[0] if len(results) == 1 else tuple(results)


def _moves(name: str, sign: int, args: Sequence[Argument]) -> bool:
    """No step goes against the direction by more than `STEP`, and the last value lies beyond the first by more."""
    series, _ = _series(name, args)
    steps = all(sign * b >= (sign - STEP) * a for values in series for a, b in pairwise(values))
    return steps and all(sign * values[-1] > (sign + STEP) * values[0] for values in series)


HELPERS: dict[str, Callable[[Sequence[Argument]], Value]] = {
    **{name: partial(reduced, name) for name in REDUCTIONS},
    "abs": absolute,
    "slope": partial(_fit, "slope", lambda xx, yy, xy: xy / xx),
    "r2": partial(_fit, "r2", lambda xx, yy, xy: xy * xy / xx / yy),
    "rising": partial(_moves, "rising", 1),
    "falling": partial(_moves, "falling", -1),
}
