"""A warning on standard error from where nothing may be raised any more."""

from __future__ import annotations

import sys


def warn(sentence: str | None) -> None:
    """One line on standard error, if there is something to say and somebody to read it."""
    if sentence:
        try:
            print(sentence, file=sys.stderr, flush=True)
        except (OSError, ValueError):
            pass  # the terminal is gone, or standard error is closed
