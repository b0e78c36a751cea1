"""Whether a result is what `expect` says: value with a tolerance, low and high, or truth. A list passes when every
element does."""

from __future__ import annotations

import math
from collections.abc import Mapping

from seekwise_papers.value import ClaimError, Value, kind

FORMS = ("value with tolerance_rel or tolerance_abs", "low and high", "truth = true")


def passes(result: Value, expect: object) -> bool:
    """Raises ClaimError when the form is unknown or the result is of another kind."""
    if not isinstance(expect, Mapping):
        raise ClaimError("`expect` is missing or no table")
    keys = set(expect)
    if keys == {"truth"} and expect["truth"] is True:
        if not isinstance(result, bool):
            raise ClaimError(f"a truth value is expected and the result is {kind(result)}")
        return result
    if isinstance(result, bool):
        raise ClaimError("a number is expected and the result is a truth value")
    results = result if isinstance(result, tuple) else (result,)
    if not results:
        raise ClaimError("the result is an empty list")
    if keys and keys <= {"low", "high"}:
        low = _number(expect.get("low", -math.inf), "low")
        high = _number(expect.get("high", math.inf), "high")
        return all(low <= one <= high for one in results)
    if keys in ({"value", "tolerance_rel"}, {"value", "tolerance_abs"}):
        return _within(results, expect)
    raise ClaimError(f"`expect` has none of the forms {'; '.join(FORMS)}")


def _within(results: tuple[float, ...], expect: Mapping[str, object]) -> bool:
    wanted = expect["value"]
    values = [_number(one, "value") for one in (wanted if isinstance(wanted, list) else [wanted] * len(results))]
    if len(values) != len(results):
        raise ClaimError(f"{len(values)} values are expected and the result has {len(results)}")
    (name,) = set(expect) - {"value"}
    tolerance = _number(expect[name], name)
    # A bound met exactly must not fail for the last bit of a binary fraction.
    return all(
        abs(one - value) <= tolerance * (abs(value) if name == "tolerance_rel" else 1) + 1e-12 * max(1.0, abs(value))
        for one, value in zip(results, values, strict=True)
    )


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise ClaimError(f"`{name}` of `expect` is no number")
    return float(value)


def shown(value: Value) -> str:
    """A result for people."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(f'{one:.4g}' for one in value[:12])}{', …' if len(value) > 12 else ''}]"
    return f"{value:.4g}"
