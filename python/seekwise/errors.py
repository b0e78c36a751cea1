"""Errors that a user sees, and the exit status each one ends with.

A command raises one of these; `seekwise.cli.main` prints `error: …`, a blank line and `hint: …`, and exits.
"""

from __future__ import annotations

import errno
from enum import IntEnum


class Exit(IntEnum):
    """Exit statuses of every command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    MISSING = 4
    NOT_MET = 5
    INTERRUPTED = 130


class SeekwiseError(Exception):
    """An operation failed; `message` is one sentence without a period, `hint` says what to do."""

    exit_status = Exit.FAILED

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SeekwiseError):
    """Wrong usage, or a study, trace or result that cannot be read."""

    exit_status = Exit.USAGE


class RefusedError(SeekwiseError):
    """Refused for safety, before anything was touched."""

    exit_status = Exit.REFUSED


class MissingError(SeekwiseError):
    """A requirement is missing: a program, a kernel feature, a privilege."""

    exit_status = Exit.MISSING


class NotMetError(SeekwiseError):
    """A check was carried out and not met."""

    exit_status = Exit.NOT_MET


class StorageError(SeekwiseError):
    """The storage of a run failed while it was used: what is measured from then on says nothing."""


FULL = "the disk is full"
_FULL_CODES = (errno.ENOSPC, errno.EDQUOT)
_FULL_TEXTS = ("No space left on device", "Disk quota exceeded", "database or disk is full")
"""As glibc and SQLite word it, in what programs print."""
_SQLITE_FULL = 13
"""SQLITE_FULL (https://www.sqlite.org/rescode.html); an extended code holds the plain one in its lowest byte."""


def reason(error: BaseException) -> str:
    """Why something failed, in a few words: a full disk first, whether SQLite or the kernel reports it."""
    if isinstance(error, UnicodeDecodeError):
        return f"it is not text in UTF-8 (byte {error.start:,} is 0x{error.object[error.start]:02x})"
    text = str(getattr(error, "strerror", None) or error)
    is_full = (
        getattr(error, "errno", None) in _FULL_CODES
        or getattr(error, "sqlite_errorcode", 0) & 0xFF == _SQLITE_FULL
        or any(words in text for words in _FULL_TEXTS)
    )
    return FULL if is_full else text
