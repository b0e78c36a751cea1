"""Trials of the simulator, run here or on a cluster: specs in, results out, for commands that keep no records of single trials."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from seekwise import _core
from seekwise.errors import SeekwiseError
from seekwise.measure.cluster import client as clients
from seekwise.measure.cluster import where as places
from seekwise.measure.cluster import work
from seekwise.simulate.protocol import Say

if TYPE_CHECKING:
    from collections.abc import Callable

Document = dict[str, Any]
CHUNKS_OF_A_WORKER = 4
RETRIES = 5


def here(specs: Sequence[Document]) -> list[Document]:
    """On the processors of this machine, in this process."""
    found: list[Document] = json.loads(_core.simulate_cells(json.dumps(list(specs)), os.cpu_count() or 1))
    return found


@contextmanager
def simulating(
    place: places.Where | None, models: Sequence[tuple[str, str]], say: Say
) -> Iterator[Callable[[Sequence[Document]], list[Document]]]:
    """What simulates trials: this process, or the workers of a cluster whose models are ours."""
    if place is None:
        yield here
        return
    with places.cluster(place) as cluster:
        connection = clients.Connection(place, cluster, say)
        try:
            connection.wait_for_workers(place.workers or 1)
            wanted = work.identity(models)
            connection.check(wanted)
            say(f"{len(connection.threads())} workers" + (f"; dashboard: {at}" if (at := connection.dashboard) else ""))
            names = itertools.count()

            def spread(specs: Sequence[Document]) -> list[Document]:
                size = max(1, -(-len(specs) // (CHUNKS_OF_A_WORKER * max(sum(connection.threads().values()), 1))))
                futures = [
                    connection.client.submit(
                        work.results, json.dumps(specs[at : at + size]), wanted, pure=False, retries=RETRIES,
                        key=f"seekwise-cells-{os.getpid()}-{next(names)}",
                    )
                    for at in range(0, len(specs), size)
                ]  # fmt: skip
                try:
                    return [result for future in futures for result in json.loads(future.result())]
                except SeekwiseError:
                    raise
                except Exception as error:
                    raise SeekwiseError(
                        f"{place.text} lost the work: {type(error).__name__}: {places.first_line(error)}",
                        hint="give the command again; nothing was written",
                    ) from error

            yield spread
        finally:
            connection.close()
