"""Python as an ordinary user: the attackers of these tests."""

import sys

NOBODY = 65534
AS_NOBODY = [
    "setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups", sys.executable, "-I", "-S", "-c",
]  # fmt: skip
"""Followed by the program's text and its arguments."""
