"""What will be asked, before it is: all the trials behind a file of questions can then be simulated side by side, each once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from seekwise_papers.queries import Defaults, Option, Query, ResultSource


class Listener:
    """A source of results that notes what is asked of it. Its answers are all the same and mean nothing."""

    def __init__(self, source: ResultSource) -> None:
        self.source = source
        self.asked: dict[Query, None] = {}

    def defaults(self, system: str) -> Defaults:
        """Answered by the source itself: it decides which schedulers and thread counts are asked for."""
        return self.source.defaults(system)

    def measure(self, queries: Sequence[Query]) -> list[float]:
        """Notes the queries and answers 1.0 to each."""
        self.asked.update(dict.fromkeys(queries))
        return [1.0] * len(queries)

    def scatter(self, query: Query) -> float:
        """Always 0.0: no error is known of a number that was not computed."""
        return 0.0

    def model(self, name: str, quantity: str, options: tuple[Option, ...]) -> float:
        """Always 1.0, and not noted: properties are computed quickly when they are asked for."""
        return 1.0


def prepare(source: ResultSource, ask: Callable[[ResultSource], object]) -> None:
    """Has `source` prepare what `ask` asks for, if it can. A question that hangs on an answer may stay unforeseen: it only comes later."""
    if hasattr(source, "prepare"):
        listener = Listener(source)
        ask(listener)
        source.prepare(list(listener.asked))
