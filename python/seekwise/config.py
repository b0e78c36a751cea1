"""The user's defaults: `$XDG_CONFIG_HOME/seekwise/config.toml`, by default `~/.config/seekwise/config.toml`.

    colour = "never"            auto, always or never
    db = "/srv/results.db"      results database instead of the usual one
    [tune]                      options of a command, as it spells them
    budget = "5m"

What is given on the command line or in the environment wins. A wrong entry is an error that names file and entry; nothing is ignored.
"""

from __future__ import annotations

import os
from pathlib import Path

from seekwise.errors import UsageError
from seekwise.files import read_text

COLOURS = ("auto", "always", "never")
GENERAL = {"colour": "auto, always or never", "db": "results database to use"}
Table = dict[str, object]


def path() -> Path:
    """The file, whether it exists or not."""
    home = os.environ.get("XDG_CONFIG_HOME")
    try:
        folder = Path(home) if home and os.path.isabs(home) else Path.home() / ".config"
    except RuntimeError:
        folder = Path("/nonexistent")
    return folder / "seekwise" / "config.toml"


def load() -> Table:
    """What the file says; {} without a file."""
    file = path()
    try:
        text = read_text(file)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}: {getattr(error, 'strerror', None) or 'it is no text'}") from error
    from seekwise import bounds  # `tomllib` is loaded where there is a file

    try:
        found = bounds.toml(text)
    except ValueError as error:
        raise UsageError(f"{file}: {error}", hint='for example: colour = "never"') from error
    for name, value in found.items():
        if not isinstance(value, dict):
            check_general(name, value)
    return found


def check_general(name: str, value: object) -> None:
    """An entry that belongs to no command."""
    if name not in GENERAL:
        raise UsageError(
            f"{path()}: `{name}` is unknown",
            hint=f"known: {', '.join(GENERAL)}, and [COMMAND] with options of a command",
        )
    if not isinstance(value, str) or not value or (name == "colour" and value not in COLOURS):
        raise UsageError(f"{path()}: `{name}` must be {GENERAL[name]}")


def apply_general(found: Table) -> None:
    """Colour and database, into the environment of this process, where the environment does not say otherwise."""
    colour = found.get("colour", "auto")
    if colour == "never":
        os.environ.setdefault("NO_COLOR", "1")
    elif colour == "always" and "NO_COLOR" not in os.environ:
        os.environ.setdefault("FORCE_COLOR", "1")
    if db := found.get("db"):
        os.environ.setdefault("SEEKWISE_DB", os.path.expanduser(str(db)))
