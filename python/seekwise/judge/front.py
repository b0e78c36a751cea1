"""The Pareto front: rows that no other is at least as good as in everything and better in something."""

from __future__ import annotations

from collections.abc import Sequence


def on_front(rows: Sequence[Sequence[float]]) -> list[bool]:
    """For each row whether it is on the front; more is better in each column. Equal rows are on it together."""

    def beats(other: Sequence[float], row: Sequence[float]) -> bool:
        return all(a >= b for a, b in zip(other, row, strict=True)) and any(
            a > b for a, b in zip(other, row, strict=True)
        )

    return [not any(beats(other, row) for other in rows) for row in rows]
