"""How much a file that somebody else wrote may be, in one place; checked before it is parsed, and named in the error.

The figures are several times what any file of ours needs, and small enough that the worst input of that size takes
seconds and less than 1 GB.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

MIB = 1 << 20
RESULT_BYTES = 32 * MIB
"""A file of results of another tool; those that people keep have 10 kB to 10 MB."""
LOG_BYTES = 64 * MIB
"""A log of fio, with a line of 25 bytes for each request."""
LOGS_BYTES = 4 * LOG_BYTES
"""All files of one import together."""
XML_BYTES = 8 * MIB
"""An element of four bytes takes a hundred of memory."""
JSON_VALUES = 1_500_000
"""Commas and opening brackets of a JSON text; each is up to 200 bytes of memory. A fio job prints 500 of them, with
json+ 3,000."""
TOML_BYTES = MIB
"""The largest file of ours has 60 kB."""
TOML_DEPTH = 32
"""Tables and lists within each other; a study has 5. Parsing takes the square of the depth (tomllib of Python 3.11)."""
CAPTURE_BYTES = 256 * MIB
CAPTURE_FILE_BYTES = MIB
"""The kernel's own text files that we read are far smaller."""
CAPTURE_MEMBERS = 100_000
CAPTURE_STEPS = 5_000_000
"""Folders and links passed on the way to what is read of a captured tree, and names listed: about a microsecond each."""
CAPTURE_READ_BYTES = 512 * MIB
CAPTURE_DEVICES = 8192
"""Block devices with partitions: a host with 1,000 LUNs over 4 paths has fewer."""
STACK_DEPTH = 64
"""Devices upon devices; real machines have up to ten."""
CAPTURE_NAME_BYTES = 4096
"""PATH_MAX of Linux."""
CAPTURE_NAMES_BYTES = 64 * MIB
"""Of all names together, with those of the folders above them."""
CAPTURE_HEADER_BYTES = MIB // 4
"""What tar may say of one member before its content."""

_PIECE = re.compile(
    r'"""(?:[^\\]|\\.)*?"""' + r"|'''.*?'''" + r'|"(?:[^"\\\n]|\\.)*"' + r"|'[^'\n]*'|#[^\n]*|[^\"'#\[\]{}.,=\n]+|.",
    re.DOTALL,
)


def toml(text: str) -> dict[str, Any]:
    """The document in a TOML text. Raises TOMLDecodeError, also for what is too large or too deep."""
    if len(text) > TOML_BYTES:
        raise tomllib.TOMLDecodeError(f"it has more than {TOML_BYTES // MIB} MiB")
    if _depth(text) > TOML_DEPTH:
        raise tomllib.TOMLDecodeError(f"it is nested deeper than {TOML_DEPTH} levels")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise tomllib.TOMLDecodeError(f"it is nested deeper than {TOML_DEPTH} levels") from None
    except (ValueError, OverflowError) as error:
        # A number of thousands of digits, a date that is none.
        raise tomllib.TOMLDecodeError(str(error)[:200]) from None


def _depth(text: str) -> int:
    """How deep the tables and lists of a TOML text lie within each other, without the table that a header opened; one
    pass."""
    deepest = brackets = dots = 0
    for bracket in _PIECE.finditer(text):
        piece = bracket[0]
        if piece in "[{":
            brackets += 1
            dots = 0
        elif piece in "]}":
            brackets = max(0, brackets - 1)
            dots = 0
        elif piece == ".":
            dots += 1
        elif piece in ",=\n":
            dots = 0
        else:
            continue
        deepest = max(deepest, brackets + dots)
    return deepest
