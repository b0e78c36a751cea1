"""Loaded first by each local worker: Ctrl-C is the run's to take, which then ends its workers in order; no page is served."""

import signal

from distributed.node import ServerNode

from seekwise.measure.cluster.where import no_http

signal.signal(signal.SIGINT, signal.SIG_IGN)
setattr(ServerNode, "start_http_server", no_http)  # noqa: B010 (a method of another class)
