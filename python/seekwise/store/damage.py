"""A run whose document is not what a run's is: an error about that run, and none about the others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from seekwise.errors import SeekwiseError

GARBLED = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    IndexError,
    ZeroDivisionError,
    OverflowError,
    RecursionError,
)
"""What reading ends in where a value is missing, of another type, or out of all bounds."""


@contextlib.contextmanager
def reading(run_id: str) -> Iterator[None]:
    """Inside, only a stored run is read and judged: what fails then is the run's own."""
    try:
        yield
    except SeekwiseError:
        raise
    except GARBLED as error:
        raise SeekwiseError(
            f"run {run_id} cannot be read: it lacks or garbles something ({type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''})",
            hint="other runs are not affected; measure it again, or import it again from where it came",
        ) from error
