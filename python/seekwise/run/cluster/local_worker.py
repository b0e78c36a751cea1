"""Loaded first by each local worker: Ctrl-C is the run's to take, which then ends its workers in order."""

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
