"""Which of a system's options are parameters of its drive, and which one was meant by one that is nobody's."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from seekwise import suggestion
from seekwise.errors import UsageError
from seekwise.workload.study.factors import Value


def drive_parameters(system: str, options: Mapping[str, Value], others: Collection[str]) -> dict[str, float]:
    """The options of a system that are not among `others`, which mean something else than the drive.

    Raises UsageError for one that is no number, as a drive's parameters are; the model itself refuses numbers that it
    does not know.
    """
    parameters = {}
    for key, value in options.items():
        if key in others:
            continue
        if isinstance(value, bool | str):
            raise UsageError(
                f"system {system} has the unknown option `{key}`",
                hint=suggestion.hint(key, others, "parameters of a drive model are numbers"),
            )
        parameters[key] = float(value)
    return parameters
