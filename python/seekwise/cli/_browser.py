"""`seekwise report RUN --open`: the page in a browser, where there is one."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

import click


def show(page: Path) -> bool:
    """Whether a browser was started on this page; why not is said on standard error."""
    why_not = no_browser()
    if why_not is None and webbrowser.open(page.as_uri()):
        return True
    click.echo(f"note: {why_not or 'the browser did not start'}; copy the file to a machine with a browser", err=True)
    return False


def folder() -> Path:
    """Pages that are only looked at: `$XDG_CACHE_HOME/seekwise/reports`, by default below `~/.cache`."""
    home = os.environ.get("XDG_CACHE_HOME")
    cache = Path(home) if home and os.path.isabs(home) else Path.home() / ".cache"
    return cache / "seekwise" / "reports"


def no_browser() -> str | None:
    """Why no browser can be started here; None if one can."""
    if os.environ.get("BROWSER"):
        return None
    if os.geteuid() == 0:
        return "a browser is not started as root"
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return "this session has no display"
    try:
        webbrowser.get()
    except webbrowser.Error:
        return "no browser is installed"
    return None
