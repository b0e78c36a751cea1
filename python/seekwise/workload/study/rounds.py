"""The order of candidates: rounds in random order, neighbours balanced.

Each round holds every candidate once. Of several random orders of a round the one is taken whose neighbours have
followed each other least often so far, so that what one setting leaves behind (dirty pages, a full drive cache) falls
on all others alike. The last of a round is never the first of the next: writing the value that is set already switches
nothing.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

DRAWS = 6
"""Random orders that are looked at for each round: enough for balance, few enough to stay random."""


class Order:
    """Draws rounds, and remembers who followed whom."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._followed: Counter[tuple[str, str]] = Counter()
        self._last: str | None = None

    def round(self, candidates: Sequence[str]) -> list[str]:
        """One round of these candidates."""
        draws = [self._draw(candidates) for _ in range(DRAWS)]
        chosen = min(draws, key=self._imbalance)
        for pair in self._pairs(chosen):
            self._followed[pair] += 1
        self._last = chosen[-1]
        return chosen

    def interrupted(self) -> None:
        """The load stopped: the next round follows nobody."""
        self._last = None

    def _draw(self, candidates: Sequence[str]) -> list[str]:
        order = list(candidates)
        self._random.shuffle(order)
        if len(order) > 1 and order[0] == self._last:
            place = self._random.randrange(1, len(order))
            order[0], order[place] = order[place], order[0]
        return order

    def _pairs(self, order: Sequence[str]) -> list[tuple[str, str]]:
        before = [self._last, *order[:-1]] if self._last is not None else list(order[:-1])
        return list(zip(before, order if self._last is not None else order[1:], strict=True))

    def _imbalance(self, order: Sequence[str]) -> int:
        return sum(2 * self._followed[pair] + 1 for pair in self._pairs(order))
