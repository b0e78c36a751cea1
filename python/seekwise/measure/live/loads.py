"""Loads under which settings are switched: each kind is started, told where a period begins, and ended, and then tells
its operations.

fio runs on through every switch. Programs do units: those of the foreground begin after a switch and end before the
next one, the background goes on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from seekwise.measure.live import logs


class Running(Protocol):
    """A load that runs."""

    def wait_running(self) -> None:
        """Returns once it does what it is to do. Raises SeekwiseError when it does not begin."""
        ...

    def period(self, seconds: float, patience_s: float) -> float:
        """Lets a period go by; seconds of it after which what is measured began. Shorter when the load ends early.

        `patience_s`: so long a unit under way is waited for at its end.
        """
        ...

    def ended(self) -> str | None:
        """Why it ended by itself; None while it runs."""
        ...

    def finish(self) -> str | None:
        """Ends it in order; what it then said of a failure."""
        ...


class UseLoad(Protocol):
    """What a use asks for, on a target that is prepared."""

    @property
    def text(self) -> str:
        """As it is recorded."""
        ...

    @property
    def buffered(self) -> bool:
        """fio writes through the page cache and needs a limit on its memory."""
        ...

    def started(
        self, work: Path, leaves: tuple[str, ...], cgroup_files: Sequence[Path]
    ) -> AbstractContextManager[Running]:
        """Started in `work`, ended on leaving. `leaves`: kernel names of the drives; `cgroup_files`: `cgroup.procs` of
        the groups to join."""
        ...

    def operations(self, work: Path) -> dict[str, logs.Operations]:
        """Of each job, once it has ended."""
        ...


@dataclass(frozen=True)
class Several:
    """Loads of several kinds at once; the last one leads, which is the one with the foreground's units."""

    loads: tuple[UseLoad, ...]

    @property
    def text(self) -> str:
        """The texts of all loads, joined by line ends."""
        return "\n".join(load.text for load in self.loads)

    @property
    def buffered(self) -> bool:
        """True if any of the loads needs a limit on its memory."""
        return any(load.buffered for load in self.loads)

    @contextlib.contextmanager
    def started(self, work: Path, leaves: tuple[str, ...], cgroup_files: Sequence[Path]) -> Iterator[Running]:
        """Only buffered loads join the control groups."""
        with ExitStack() as stack:
            yield _Together(
                [
                    stack.enter_context(load.started(work, leaves, cgroup_files if load.buffered else ()))
                    for load in self.loads
                ]
            )

    def operations(self, work: Path) -> dict[str, logs.Operations]:
        """Job names are unique within a use, so the loads' results are joined."""
        return {name: operation for load in self.loads for name, operation in load.operations(work).items()}


class _Together:
    def __init__(self, parts: Sequence[Running]) -> None:
        self._parts = parts

    def wait_running(self) -> None:
        for part in self._parts:
            part.wait_running()

    def period(self, seconds: float, patience_s: float) -> float:
        return self._parts[-1].period(seconds, patience_s)

    def ended(self) -> str | None:
        return next((reason for part in self._parts if (reason := part.ended())), None)

    def finish(self) -> str | None:
        said = [part.finish() for part in reversed(self._parts)]
        return next((reason for reason in said if reason), None)
