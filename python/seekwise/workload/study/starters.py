"""Studies that ship with the program: `seekwise/studies/NAME.toml` and `studies/published/NAME.toml` (those of published texts).

Each one is a file that a user can copy and change.
"""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

from seekwise import suggestion
from seekwise.errors import UsageError
from seekwise.workload.study import parse
from seekwise.workload.study.study import Study

PUBLISHED = "published"


def names() -> list[str]:
    """Studies that ship with the program, the published ones last."""
    return [*_names_in(_folder()), *published_names()]


def published_names() -> list[str]:
    """Studies that repeat a published text."""
    return _names_in(_folder() / PUBLISHED)


def ladder(name: str) -> Path:
    """A study of the comparison of simulator and VM testbed."""
    return Path(str(_folder() / "ladder" / f"{name}.toml"))


def text(name: str) -> str:
    """The TOML of a shipped study."""
    name = name.removeprefix(f"{PUBLISHED}/")
    folder = _folder() / PUBLISHED if name in published_names() else _folder()
    return (folder / f"{name}.toml").read_text(encoding="utf-8")


def open_shipped(name: str) -> tuple[Study, str]:
    """A shipped study and its TOML."""
    return parse.loads(text(name), name), text(name)


def open_study(name: str) -> tuple[Study, str]:
    """(study, its text) of a file, or of a study that ships with the program."""
    path = Path(name)
    if not os.path.lexists(path) and name.removeprefix(f"{PUBLISHED}/") in names():
        return open_shipped(name)
    if path.is_dir():
        raise UsageError(f"{name} is a folder, not a study", hint=f"did you mean `seekwise tune {name}`?")
    if not os.path.lexists(path) and path.suffix != ".toml" and os.sep not in name:
        raise UsageError(
            f"no study at {name}", hint=suggestion.hint(name, names(), f"studies that ship: {', '.join(names())}")
        )
    return parse.load_with_text(path)


def _names_in(folder) -> list[str]:
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def _folder():
    return files("seekwise") / "studies"
