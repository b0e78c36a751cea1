"""Being told to stop, without losing what has to be restored.

Ctrl-C, SIGTERM, SIGQUIT and SIGHUP (the terminal was closed) become one exception, `Stopped`, raised where the work is.
Inside `held()` they wait: a half-written restore would be worse than a second's delay.

Blocking signals with a mask would not do: numeric libraries start threads, the kernel may deliver to any of them, and
Python then runs the handler in the main thread anyway. So the handler itself looks whether it must wait.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Stopped(KeyboardInterrupt):
    """Somebody asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.signal_number = number


Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers | None

_hold_depth = 0
_waiting: int | None = None
_install_depth = 0
_previous: dict[int, Handler] = {}


def _on_signal(number: int, _frame: FrameType | None) -> None:
    global _waiting
    if _hold_depth:
        _waiting = number
        return
    raise Stopped(number)


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """While inside, the four signals raise `Stopped`."""
    install()
    try:
        yield
    finally:
        uninstall()


def install() -> None:
    """Turns the signals that end a program into `Stopped`; may be nested. Outside the main thread, where Python allows no
    handlers, nothing happens."""
    global _install_depth
    if threading.current_thread() is not threading.main_thread():
        return
    _install_depth += 1
    if _install_depth > 1:
        return
    for number in SIGNALS:
        # `nohup` and `trap ''` mean: this signal shall not end the work. Respect it.
        if signal.getsignal(number) is not signal.SIG_IGN:
            _previous[number] = signal.signal(number, _on_signal)


def uninstall() -> None:
    """Gives signals back their previous handlers, once the outermost `install` is left; also in a forked child, which has
    inherited them."""
    global _install_depth
    if threading.current_thread() is not threading.main_thread() or not _install_depth:
        return
    _install_depth -= 1
    if _install_depth:
        return
    for number, handler in _previous.items():
        signal.signal(number, handler if handler is not None else signal.SIG_DFL)
    _previous.clear()


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Signals wait until the outermost `held` is left; then the last one is raised, also over another exception."""
    global _hold_depth, _waiting
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _hold_depth += 1
    try:
        yield
    finally:
        _hold_depth -= 1
        if _hold_depth == 0 and _waiting is not None:
            number, _waiting = _waiting, None
            raise Stopped(number)
