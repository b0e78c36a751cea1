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

from seekwise.errors import SeekwiseError, UsageError
from seekwise.files import make_folders, read_text, write_product

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
        raise UsageError(f"{file}: {error}", hint="`seekwise config set NAME VALUE` writes it") from error
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


def save(found: Table) -> None:
    """Writes the file anew: general entries, then a table per command. The old file stays if that fails."""
    lines = [f"{name} = {_literal(value)}" for name, value in sorted(found.items()) if not isinstance(value, dict)]
    for name, table in sorted(found.items()):
        if isinstance(table, dict) and table:
            lines += ["", f"[{name}]", *(f"{key} = {_literal(value)}" for key, value in sorted(table.items()))]
    file = path()
    try:
        make_folders(file.parent)
        write_product(file, "\n".join(lines).strip() + "\n")
    except OSError as error:
        raise SeekwiseError(f"cannot write {file}: {error.strerror}") from error


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(_literal(each) for each in value)}]"
    import json

    return json.dumps(str(value), ensure_ascii=False)
