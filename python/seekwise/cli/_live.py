"""What a person sees while a run goes on: a line with progress and time left, on standard error.

Where standard error is no terminal nothing moves: one line per repetition, or per tenth of a run that is spread, tells
that it goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from seekwise.cli import _display
from seekwise.measure.execute import Progress as Told
from seekwise.workload.study.quantity import time_text

if TYPE_CHECKING:
    from rich.console import Console


class Watcher:
    """Takes sentences (`say`) and progress (`tell`)."""

    def __init__(self, console: Console, bar: Progress | None, repetitions: int) -> None:
        self.console, self.bar, self.repetitions = console, bar, repetitions
        self.task = bar.add_task("preparing", total=None, left="") if bar is not None else None
        self.repetition = 0
        self.repeated = 0
        self.tenths = 0

    def say(self, sentence: str) -> None:
        """A line on standard error, above the progress bar; markup in it is printed as it is."""
        self.console.print(sentence, style="dim", highlight=False, markup=False, soft_wrap=self.bar is None)

    def tell(self, told: Told) -> None:
        """Moves the bar; where there is no bar, prints a line per repetition or per tenth. Discarded trials: three are
        named, then no more."""
        last = told.last
        if last is not None and not last.valid:
            self.repeated += 1
            if self.repeated <= 3:
                self.say(f"trial {last.trial + 1} discarded and repeated: {last.invalid_reason}")
            elif self.repeated == 4:
                self.say("further discarded trials are in the records only")
        if self.bar is not None and self.task is not None:
            doing = f"repetition {last.repetition} of {self.repetitions}" if last is not None else "first trial"
            if told.workers is not None:
                doing = f"{told.workers} at once"
            left = _left_text(told) if told.done < told.total else "done"
            self.bar.update(self.task, description=doing, completed=told.done, total=told.total, left=left)
        elif told.workers is not None:
            if (tenth := 10 * told.done // max(told.total, 1)) > self.tenths:
                self.tenths = tenth
                left = _left_text(told, "about ") if told.done < told.total else "done"
                self.say(f"{told.done} of {told.total} trials, {left}")
        elif last is not None and last.repetition != self.repetition:
            self.repetition = last.repetition
            self.say(f"repetition {last.repetition} of {self.repetitions}, {_left_text(told, 'about ')}")


def _left_text(told: Told, about: str = "") -> str:
    return "time left not known yet" if told.left_s is None else f"{about}{time_text(told.left_s)} left"


@contextmanager
def watching(repetitions: int, *, quiet: bool = False) -> Iterator[Watcher]:
    """A bar with the time left on a terminal, and sentences as they come; silent with `quiet`."""
    with _display.moving(quiet=quiet) as (console, live):
        if live is None:
            yield Watcher(console, None, repetitions)
            return
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TextColumn("{task.fields[left]}"),
        )
        watcher = Watcher(console, bar, repetitions)
        live.update(bar, refresh=True)
        yield watcher
