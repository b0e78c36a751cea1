"""The connection to a cluster. A scheduler may be restarted while a run goes on: then there is a new connection, and what was given out is void."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

from seekwise.errors import MissingError, RefusedError, SeekwiseError
from seekwise.measure.cluster import where as places
from seekwise.measure.cluster import work
from seekwise.simulate.protocol import Say

CONNECT_S = 10.0
"""How long a scheduler may take to answer at the start."""
WORKERS_S = 30.0
"""How long to wait for all workers; with fewer, a run begins after that."""
PATIENCE_S = 300.0
"""How long to wait for a scheduler or workers that have gone away."""
LOOK_S = 1.0


class Connection:
    """A client of a cluster, made anew where it broke."""

    def __init__(self, place: places.Where, cluster: Any, say: Say) -> None:
        self.place, self._cluster, self._say = place, cluster, say
        self.client = self._connected(CONNECT_S)

    def _connected(self, timeout_s: float) -> Any:
        from distributed import Client

        places.quiet()
        try:
            # Records of local workers take the short way; those of other machines may be reachable by the scheduler alone.
            direct = self.place.kind == "local"
            connect: Any = Client
            return connect(self._cluster, timeout=timeout_s, set_as_default=False, direct_to_workers=direct)
        except (OSError, TimeoutError, ValueError) as error:
            raise MissingError(
                f"{self.place.text} does not answer: {places.first_line(error)}",
                hint="`dask scheduler` starts one there; look at host, port and firewall",
            ) from error

    def close(self) -> None:
        """Waits at most 2 s; a scheduler that no longer answers is no error."""
        with contextlib.suppress(Exception):
            self.client.close(timeout=2)

    @property
    def dashboard(self) -> str:
        """Its address; empty for a scheduler that has none."""
        with contextlib.suppress(KeyError, TypeError, OSError, TimeoutError):
            if "dashboard" in self.client.scheduler_info(n_workers=0)["services"]:
                return str(self.client.dashboard_link or "")
        return ""

    @property
    def is_up(self) -> bool:
        """False from the moment the scheduler is lost until there is a new connection."""
        return str(self.client.status) == "running"

    def threads(self) -> dict[str, int]:
        """{address: threads} of the workers as of the last answer; empty while the scheduler does not answer."""
        try:
            found = self.client.scheduler_info(n_workers=-1)["workers"]
        except (KeyError, TypeError, AttributeError, OSError, TimeoutError):
            return {}
        return {address: int(each.get("nthreads", 1)) for address, each in found.items()}

    def wait_for_workers(self, wanted: int) -> None:
        """Until there are as many, or one at least when the time is over. Raises MissingError if there is none."""
        told, began = False, time.monotonic()
        while (waited := time.monotonic() - began) < WORKERS_S:
            if len(self.threads()) >= wanted:
                return
            if not told and waited > 5:
                told = True
                self._say(f"waiting for workers, {WORKERS_S:.3g} s at most")
            time.sleep(0.1)
        if not self.threads():
            raise MissingError(f"no worker after {WORKERS_S:.3g} s: {self.place.text}", hint=_worker_line(self.place))

    def check(self, wanted: work.Identity) -> None:
        """Raises RefusedError if a worker's models differ from ours, naming it."""
        models = [(kind, name) for kind, name, _ in wanted.models]
        answers = self.client.run(work.identity, models, on_error="return")
        for address, found in answers.items():
            if isinstance(found, ModuleNotFoundError):
                raise MissingError(
                    f"worker {address} has no seekwise {wanted.release} ({found})",
                    hint="install the same release of seekwise there, with the same Python",
                )
            if isinstance(found, OSError | TimeoutError):
                continue  # it ended just now; its successor is asked again with each batch
            if not isinstance(found, work.Identity):
                raise SeekwiseError(f"worker {address} does not answer: {places.first_line(found)}")
            refuse(address, wanted.difference(found))

    def back(self, is_needed: Callable[[], bool]) -> None:
        """Waits until the scheduler answers and has a worker; a new client if ours ended. Raises SeekwiseError after `PATIENCE_S`."""
        self._say(f"{self.place.text} is gone; waiting for it, at most {PATIENCE_S / 60:.0f} minutes")
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and is_needed():
            if self.client.status in ("closed", "closing"):
                self.close()
                with contextlib.suppress(MissingError):
                    self.client = self._connected(CONNECT_S)
            if self.is_up and self.threads():
                self._say(f"{self.place.text} is back")
                return
            time.sleep(LOOK_S)
        raise SeekwiseError(f"{self.place.text} has not come back")


def refuse(address: str, difference: str | None) -> None:
    """Raises RefusedError where a worker would not give the same trials; `difference` is None where it would."""
    if difference is not None:
        raise RefusedError(
            f"worker {address} {difference}: its trials would not be the same",
            hint="install the same seekwise and the same model files there, or end that worker",
        )


def _worker_line(place: places.Where) -> str:
    if place.kind == "scheduler":
        return f"`dask worker {place.address}` starts one"
    return "is there memory and a free port?"


def names(addresses: Sequence[str]) -> str:
    """At most three addresses, and how many more."""
    return ", ".join(addresses[:3]) + (f" and {len(addresses) - 3} more" if len(addresses) > 3 else "")
