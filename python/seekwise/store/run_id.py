"""Names of runs."""

from __future__ import annotations

import secrets
from datetime import datetime


def new_run_id() -> str:
    """Sorts by time, can be typed, and is a file name: `20261121-1204-3f9a`."""
    return f"{datetime.now():%Y%m%d-%H%M}-{secrets.token_hex(2)}"
