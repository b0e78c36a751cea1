"""Names of runs."""

from __future__ import annotations

import re
import secrets
from datetime import datetime


def new_run_id() -> str:
    """Sorts by time, can be typed, and is a file name: `20261121-1204-3f9a`."""
    return f"{datetime.now():%Y%m%d-%H%M}-{secrets.token_hex(2)}"


def is_run_id(text: str) -> bool:
    """Whether the text is the id of a run, or begins one from its day on."""
    return re.fullmatch(r"\d{8}(-(\d{0,4}|\d{4}-[0-9a-f]{0,4}))?", text) is not None
