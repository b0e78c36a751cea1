"""A web server: small files that are not in memory, sent over sockets, and an access log."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Annotated, BinaryIO

from pydantic import Field, PrivateAttr

from seekwise.workload import cold, data
from seekwise.workload.program import Place, Program


class Pages(Program):
    """A worker serves one request at a time, as those of a preforking server do: open, fstat, sendfile, a line of the
    log."""

    name = "pages"
    title = "serves small files that are not in memory over sockets, and appends a log"
    unit = "page"
    kind = "server"
    writes = True

    log_sync_every: Annotated[int, Field(ge=0, le=100_000)] = 0
    """Requests after which the log is made durable; 0: when the kernel writes it."""

    _log: BinaryIO | None = PrivateAttr(None)
    _ends: tuple[socket.socket, socket.socket] | None = PrivateAttr(None)
    data_sets = ("small",)
    """Small files; each is a page."""

    def open(self, place: Place) -> None:
        """The access log, and a socket pair whose other end takes the client's place."""
        self._log = (place.own / "access.log").open("ab", buffering=0)
        server, client = socket.socketpair()
        server.setblocking(False)
        client.setblocking(False)
        self._ends = server, client

    def before(self, place: Place) -> None:
        """Picks a page at random and evicts it."""
        place.picked = place.random.choice(data.small_files(place))
        place.cached_share = cold.evict([place.picked])

    def work(self, place: Place) -> int:
        """Bytes of the page, sent with sendfile; the log line is written within the time."""
        assert self._log is not None and self._ends is not None and place.picked is not None
        server, client = self._ends
        file = os.open(place.picked, os.O_RDONLY | os.O_CLOEXEC)
        try:
            size, sent = os.fstat(file).st_size, 0
            while sent < size:
                try:
                    sent += os.sendfile(server.fileno(), file, sent, size - sent)
                except BlockingIOError:
                    self._drain(client)
        finally:
            os.close(file)
        self._drain(client)
        self._log.write(b'127.0.0.1 - - "GET /%s HTTP/1.1" 200 %d\n' % (str(place.picked.name).encode(), size))
        place.turn += 1
        if self.log_sync_every and place.turn % self.log_sync_every == 0:
            os.fdatasync(self._log.fileno())
        return size

    @staticmethod
    def _drain(client: socket.socket) -> None:
        """The client reads what has come."""
        with contextlib.suppress(BlockingIOError):
            while client.recv(1 << 20):
                pass
