"""What will be asked, before it is: all the cells behind a file of questions can then be simulated side by side, each once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from seekwise.published.world import Defaults, Option, Query, World


class Listener:
    """A world that notes what is asked of it. Its answers are all the same and mean nothing."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.asked: dict[Query, None] = {}

    def defaults(self, system: str) -> Defaults:
        return self.world.defaults(system)

    def measure(self, queries: Sequence[Query]) -> list[float]:
        self.asked.update(dict.fromkeys(queries))
        return [1.0] * len(queries)

    def scatter(self, query: Query) -> float:
        return 0.0

    def model(self, name: str, quantity: str, options: tuple[Option, ...]) -> float:
        return 1.0


def prepare(world: World, ask: Callable[[World], object]) -> None:
    """Has `world` prepare what `ask` asks for, if it can. A question that hangs on an answer may stay unforeseen: it only comes later."""
    if hasattr(world, "prepare"):
        listener = Listener(world)
        ask(listener)
        world.prepare(list(listener.asked))
