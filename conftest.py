"""Makes `tests/` importable, so that helpers stand beside the tests that use them, and signals heard; orders the slow tests."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "tests"))

# Under nohup SIGHUP is ignored, in the background of a script SIGINT and SIGQUIT, and the programs that tests start and end by them
# inherit that.
for _signal, _handler in (
    (signal.SIGHUP, signal.SIG_DFL),
    (signal.SIGQUIT, signal.SIG_DFL),
    (signal.SIGINT, signal.default_int_handler),
):
    if signal.getsignal(_signal) is signal.SIG_IGN:
        signal.signal(_signal, _handler)

# A database named in the shell is no test's.
os.environ.pop("SEEKWISE_DB", None)

# Words of commands and options are explained where there is a command line.
import seekwise.cli.main  # noqa: E402
import seekwise.invocation  # noqa: E402


@pytest.fixture(autouse=True)
def suggested_for_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests run as root as well; what they read is said to somebody who is not."""
    monkeypatch.setattr(seekwise.invocation, "IS_ROOT", False)


LONGEST = ("test_systemd_guest.py", "test_new_scheduler.py", "test_packages.py")
"""Files of minutes: they begin first, so that one worker is not left with them at the end."""
SLOW_UNTIL = float(os.environ.get("SLOW_TESTS_UNTIL", "inf"))
"""Seconds since 1970 after which no slow test begins: `.ci/run` has an hour."""


def pytest_configure(config: pytest.Config) -> None:
    """Files begin in the order of the list: pytest-xdist would begin with those of most tests, and end with these."""
    if config.getoption("markexpr", None) == "slow":
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("slow") is not None and time.time() > SLOW_UNTIL:
        pytest.skip("the time for slow tests is used up (SLOW_TESTS_UNTIL)")
