"""What was probably meant by a name that nothing has: a name of the known ones for a hint."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

CUTOFF = 0.65
"""Share of letters in common (difflib's ratio) from which a name is suggested: `shedulers` is `schedulers`, `speed` is
nothing."""


def nearest(word: str, known: Iterable[str], cutoff: float = CUTOFF) -> str | None:
    """The known name that is spelt most like `word`; None where none is near. Case does not matter."""
    by_lower = {name.lower(): name for name in known}
    nearest_names = difflib.get_close_matches(word.strip().lower(), by_lower, n=1, cutoff=cutoff)
    return by_lower[nearest_names[0]] if nearest_names else None


def hint(word: str, known: Iterable[str], otherwise: str, cutoff: float = CUTOFF) -> str:
    """``did you mean `NAME`?``, or `otherwise` where nothing is near."""
    meant = nearest(word, known, cutoff)
    return f"did you mean `{meant}`?" if meant else otherwise
