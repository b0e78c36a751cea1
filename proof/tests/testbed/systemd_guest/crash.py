"""Runs inside the guest: sets the write cache of a drive for a while, as a trial does, and is killed before it is restored."""

import os
import signal
import sys
from pathlib import Path

from seekwise.control.journal import Journal
from seekwise.control.settings import write_journalled

write_journalled("changed", {sys.argv[1]: {"cache_type": "write through"}}, Path("/"), Journal(), lambda entry: None)
os.kill(os.getpid(), signal.SIGKILL)
