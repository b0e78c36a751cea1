"""What a person sees while `tune` measures: what is being tried, time left, and how the candidates stand so far.

Where standard error is no terminal nothing moves: one line per use tells that it goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Group
from rich.table import Table
from rich.text import Text

from seekwise.cli import _display
from seekwise.judge.decision.verdicts import Judged
from seekwise.measure.live.open_run import RunListener
from seekwise.workload.live_plan import LivePlan
from seekwise.workload.study.quantity import time_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

LINE_EVERY_S = 20.0
"""Between lines of progress, where nothing can be drawn over."""


class _Screen:
    def __init__(self, console: Console, live: Live | None, plan: LivePlan) -> None:
        self.console, self.live, self.plan = console, live, plan
        self.doing = "preparing"
        self.use = ""
        self.line_at_s = 0.0
        self.judged: Sequence[Judged] = ()

    def say(self, sentence: str) -> None:
        self.console.print(Text(sentence, style="dim"), soft_wrap=self.live is None)

    def laying_out(self, share: float) -> None:
        self.doing = f"writing test files, {100 * share:.0f} %"
        self.draw()

    def measuring(self, use: str, candidate: str, left_s: float) -> None:
        if self.live is None and (use != self.use or time.monotonic() - self.line_at_s >= LINE_EVERY_S):
            self.line_at_s = time.monotonic()
            text = f"measuring: {use}, now under {candidate}, at most {time_text(left_s)} left{self._so_far(use)}"
            self.console.print(Text(text), soft_wrap=True)
        self.use = use
        self.doing = f"{use}\n  now under {candidate}, at most {time_text(left_s)} left"
        self.draw()

    def standing(self, judged: list[Judged]) -> None:
        self.judged = judged
        self.draw()

    def draw(self) -> None:
        if self.live is not None:
            self.live.update(Group(Text(self.doing), *([self._table()] if self.judged else ())))

    def _so_far(self, use: str) -> str:
        """How the candidates stand in the first figure of this use."""
        from seekwise.report.metric_words import metric_name, value_text
        from seekwise.report.tune_answer import best_text

        first = next((entry for entry in self.judged if use in (entry.use, entry.title)), None)
        if first is None:
            return ""
        values = ", ".join(
            f"{standing.setting} {value_text(standing.value, first.unit)}" for standing in first.standings
        )
        return f"; so far {metric_name(first)}: {values}{f'; best: {best}' if (best := best_text(first)) else ''}"

    def _table(self) -> Table:
        from seekwise.report.layout import plain_table
        from seekwise.report.metric_words import metric_name
        from seekwise.report.tune_answer import best_text

        rows = ((f"{entry.use}: {metric_name(entry)}", best_text(entry)) for entry in self.judged)
        return plain_table(("So far", "Best"), rows)


@contextmanager
def watching(plan: LivePlan, *, quiet: bool = False) -> Iterator[RunListener]:
    """The screen of a run on standard error; gone when the run ends."""
    with _display.moving(quiet=quiet) as (console, live):
        screen = _Screen(console, live, plan)
        yield RunListener(screen.say, screen.laying_out, screen.measuring, screen.standing)
