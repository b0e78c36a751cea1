"""The names of the language: helpers, metrics and properties over a source of results.

A list (or "all", or threads left out) in one or more places of a metric gives the flat list over all combinations, in
the order system, operation, scheduler, threads, then options as written; the last one varies fastest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from seekwise.store.operations import PURE_OPERATIONS
from seekwise_papers.helpers import HELPERS
from seekwise_papers.queries import METRICS, NUMBER_OPTIONS, PLACE_OPTIONS, SCHEDULERS, TEXT_OPTIONS, Option, Query
from seekwise_papers.simulated import QUANTITIES, SimulatedResults
from seekwise_papers.value import Argument, ClaimError, Value, kind

ALL = "all"
THREADS_MAX = 4096
# No claim asks for more numbers at once; a text that does is a mistake or an attack on patience.
COMBINATIONS_MAX = 20_000


class Functions:
    """`call` for `expression.evaluate`, over one source of results."""

    def __init__(self, source: SimulatedResults) -> None:
        self.source = source

    def __call__(self, name: str, args: Sequence[Argument], options: dict[str, Argument]) -> Value:
        """Raises ClaimError for an unknown function, or for an option that it does not take."""
        if name in HELPERS:
            if options:
                raise ClaimError(f"{name} takes no option `{next(iter(options))}`")
            return HELPERS[name](args)
        if name in METRICS:
            return self._metric(name, args, options)
        if name == "model":
            return self._model(args, options)
        raise ClaimError(f"there is no function `{name[:40]}`")

    def _metric(self, name: str, args: Sequence[Argument], options: dict[str, Argument]) -> Value:
        if len(args) not in (3, 4):
            raise ClaimError(f"{name} takes system, operation, scheduler and threads, and got {len(args)} arguments")
        systems, operations, schedulers = args[:3]
        is_list = len(args) == 3 or any(isinstance(arg, tuple) for arg in (*args, *options.values()))
        is_list = is_list or operations == ALL or schedulers == ALL
        names = [_options(option, value, name) for option, value in options.items()]
        queries = []
        for system in _texts(systems, f"the system of {name}"):
            defaults = self.source.defaults(system)
            threads = defaults.threads if len(args) == 3 else _threads(args[3], name)
            with_schedulers = defaults.schedulers if schedulers == ALL else _known(schedulers, SCHEDULERS, "scheduler")
            with_operations = PURE_OPERATIONS if operations == ALL else _known(operations, PURE_OPERATIONS, "operation")
            for operation, scheduler, count in product(with_operations, with_schedulers, threads):
                queries += [Query(name, system, operation, scheduler, count, chosen) for chosen in product(*names)]
                if len(queries) > COMBINATIONS_MAX:
                    raise ClaimError(f"{name} asks for more than {COMBINATIONS_MAX} numbers at once")
        values = [float(value) for value in self.source.measure(queries)]
        return tuple(values) if is_list else values[0]

    def _model(self, args: Sequence[Argument], options: dict[str, Argument]) -> Value:
        if len(args) != 2:
            raise ClaimError(f"model takes a name and a quantity, and got {len(args)} arguments")
        names = _texts(args[0], "the name of model")
        (quantity,) = _known(args[1], QUANTITIES, "quantity") if isinstance(args[1], str) else (None,)
        if quantity is None:
            raise ClaimError(f"model takes one quantity and got {kind(args[1])}")
        chosen = [_options(option, value, "model", PLACE_OPTIONS) for option, value in options.items()]
        values = tuple(
            float(self.source.model(name, quantity, tuple(one))) for name in names for one in product(*chosen)
        )
        is_list = isinstance(args[0], tuple) or any(isinstance(value, tuple) for value in options.values())
        return values if is_list else values[0]


def _texts(value: Argument, where: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    if isinstance(value, tuple) and value and all(isinstance(one, str) for one in value):
        return value  # type: ignore[return-value]
    raise ClaimError(
        f"{where} must be a string or a list of strings, not {'an empty list' if value == () else kind(value)}"
    )


def _known(value: Argument, allowed: Sequence[str], what: str) -> tuple[str, ...]:
    texts = _texts(value, f"the {what}")
    for text in texts:
        if text not in allowed:
            raise ClaimError(f"there is no {what} `{text[:40]}`")
    return texts


def _threads(value: Argument, name: str) -> tuple[int, ...]:
    counts = value if isinstance(value, tuple) else (value,)
    if not counts or not all(isinstance(count, float) and count in range(1, THREADS_MAX + 1) for count in counts):
        raise ClaimError(f"the threads of {name} must be whole numbers from 1 to {THREADS_MAX}, or a list of them")
    return tuple(int(count) for count in counts)


def _options(option: str, value: Argument, name: str, more: Sequence[str] = ()) -> list[Option]:
    """Every value of an option, checked."""
    if option not in TEXT_OPTIONS and option not in (*NUMBER_OPTIONS, *more):
        raise ClaimError(f"{name} has no option `{option[:40]}`")
    values = value if isinstance(value, tuple) else (value,)
    if not values or isinstance(value, bool):
        raise ClaimError(f"the option `{option}` of {name} has no value")
    allowed = TEXT_OPTIONS.get(option)
    for one in values:
        is_right = (
            isinstance(one, str) and (allowed is None or one in allowed)
            if option in TEXT_OPTIONS
            else isinstance(one, float) and (one > 0 or (one == 0 and option in more))
        )
        if not is_right:
            raise ClaimError(f"the option `{option}` of {name} cannot be `{one}`")
    return [(option, one) for one in values]
