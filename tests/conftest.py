"""Makes `tests/` importable, so that helpers stand beside the tests that use them, and signals heard."""

import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

# Under nohup SIGHUP is ignored, in the background of a script SIGINT and SIGQUIT, and the programs that tests start and end by them
# inherit that.
for _signal, _handler in (
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGQUIT, signal.SIG_DFL),
    (signal.SIGINT, signal.default_int_handler),
):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, _handler)

# Words of commands and options are explained where there is a command line.
import seekwise.cli.main  # noqa: E402, F401
