"""Many settings in few words: by what they have in common and no other setting has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

PIECES_MOST = 4
"""So many names a sentence can carry, and that many of single settings:"""
SINGLE_MOST = 8
FACTORS_MOST = 8
"""Names of more factors are not taken apart."""

Pattern = tuple[tuple[int, str], ...]
"""Words of a name by their place: what is not among them may be anything."""


def pieces(members: Sequence[str], settings: Sequence[str]) -> list[str]:
    """`members` of all `settings` in few names: `drives=6 bfq` stands for every setting with these two words.

    Names are words of one factor each; names of one word stay as they are. What needs more than four ends with a
    number.
    """
    if len(members) == len(settings) > PIECES_MOST:
        return [f"all {len(settings)}"]
    parts = _pieces(list(members), list(settings))
    if len(parts) <= PIECES_MOST or all(new == 1 for _, new in parts):
        shown = parts if len(parts) <= SINGLE_MOST else parts[: SINGLE_MOST - 1]
    else:
        shown = parts[: PIECES_MOST - 1]
    rest = len(members) - sum(new for _, new in shown)
    return [*(" ".join(words) for words, _ in shown), *([f"{rest} more"] if rest else [])]


def _pieces(members: list[str], settings: list[str]) -> list[tuple[list[str], int]]:
    """Words of each piece and how many members it adds; together they are the members, and nothing else."""
    words = {setting: setting.split(" ") for setting in settings}
    factors = len(words[members[0]])
    if not 1 < factors <= FACTORS_MOST or any(len(parts) != factors for parts in words.values()):
        return [([member], 1) for member in members]
    inside = set(members)
    covers: dict[Pattern, set[str]] = {}
    for member in members:
        named_words = list(enumerate(words[member]))
        for count in range(1, factors + 1):
            for pattern in combinations(named_words, count):
                if pattern in covers:
                    continue
                alike = {s for s in settings if all(words[s][place] == word for place, word in pattern)}
                if alike <= inside:
                    covers[pattern] = alike
    pieces, left = [], set(members)
    while left:
        # The most first; of those the one of the fewest words, then in the order of the settings.
        best = max(covers, key=lambda pattern: (len(covers[pattern] & left), -len(pattern)))
        pieces.append(([word for _, word in best], len(covers[best] & left)))
        left -= covers[best]
    return pieces
