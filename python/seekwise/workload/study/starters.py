"""Studies that ship: `seekwise/studies/NAME.toml`, and those of other distributions (`seekwise.extensions`).

Each one is a file that a user can copy and change.
"""

from __future__ import annotations

import os
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from seekwise import extensions, suggestion
from seekwise.errors import UsageError
from seekwise.workload.study import parse
from seekwise.workload.study.study import Study


def names() -> list[str]:
    """Own studies, then those of other distributions."""
    return [name for folder in _folders().values() for name in _names_in(folder)]


def names_of(group: str) -> list[str]:
    """Studies that another distribution brings under this name; none where it is not installed."""
    return _names_in(_folders().get(group))


def text(name: str) -> str:
    """The TOML of a shipped study."""
    group, _, own = name.rpartition("/")
    folders = _folders()
    folder = folders[group] if group else next(shipped for shipped in folders.values() if own in _names_in(shipped))
    return (folder / f"{own}.toml").read_text(encoding="utf-8")


def open_shipped(name: str) -> tuple[Study, str]:
    """A shipped study and its TOML."""
    return parse.loads(text(name), name), text(name)


def open_study(name: str) -> tuple[Study, str]:
    """(study, its text) of a file, or of a study that ships with the program."""
    path = Path(name)
    if not os.path.lexists(path) and _is_shipped(name):
        return open_shipped(name)
    if path.is_dir():
        raise UsageError(f"{name} is a folder, not a study", hint=f"did you mean `seekwise tune {name}`?")
    if not os.path.lexists(path):
        known = f"studies that ship: {', '.join(names())}"
        is_name = path.suffix != ".toml" and os.sep not in name
        raise UsageError(f"no study at {name}", hint=suggestion.hint(name, names(), known) if is_name else known)
    return parse.load_with_text(path)


def _is_shipped(name: str) -> bool:
    group, _, own = name.rpartition("/")
    return own in names() if not group else own in _names_in(_folders().get(group))


def _names_in(folder: Traversable | None) -> list[str]:
    if folder is None:
        return []
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def _folders() -> dict[str, Traversable]:
    """{group: folder}; own studies have no group."""
    others = extensions.present(extensions.STUDIES)
    return {"": files("seekwise") / "studies"} | {
        name: files(entry.module) / "studies" for name, entry in others.items()
    }
