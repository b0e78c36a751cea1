"""What an expression can be worth, and why a claim is missed before it is decided; another reason: `NotModelled`."""

from __future__ import annotations

import math

Number = float
Value = float | bool | tuple[float, ...]
"""A number, a truth value, or a flat list of numbers."""
Argument = Value | str | tuple[str, ...]
"""What a function may be given."""


class ClaimError(Exception):
    """The expression is outside the language or its values do not fit; the message is one sentence without a period."""


def finite(number: float, where: str) -> float:
    """The number; ClaimError, which names the place, where it is not finite."""
    if not math.isfinite(number):
        raise ClaimError(f"{where} gives a number that is not finite")
    return float(number)


def kind(value: Argument) -> str:
    """The kind of a value, for messages."""
    if isinstance(value, bool):
        return "a truth value"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, tuple):
        return "a list of strings" if value and isinstance(value[0], str) else "a list of numbers"
    return "a number"


def is_number(value: Argument) -> bool:
    """Whether a value is one number."""
    return isinstance(value, float) and not isinstance(value, bool)


def numbers(value: Argument, where: str) -> tuple[float, ...]:
    """A number or a list of numbers, as a list."""
    if is_number(value):
        return (value,)  # type: ignore[return-value]
    if isinstance(value, tuple) and all(isinstance(one, float) for one in value):
        return value  # type: ignore[return-value]
    raise ClaimError(f"{where} needs numbers and got {kind(value)}")


def pair(left: Argument, right: Argument, where: str) -> tuple[list[tuple[float, float]], bool]:
    """Elements side by side, and whether the outcome is a list; a number stands beside each element of a list."""
    a, b = numbers(left, where), numbers(right, where)
    if is_number(left) and is_number(right):
        return [(a[0], b[0])], False
    if is_number(left):
        a = a * len(b)
    elif is_number(right):
        b = b * len(a)
    if len(a) != len(b):
        raise ClaimError(f"{where} meets lists of {len(a)} and {len(b)} values")
    return list(zip(a, b, strict=True)), True
