"""Studies that ship with the program: `seekwise/studies/NAME.toml`, each one a file that a user can copy and change."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from seekwise.errors import UsageError
from seekwise.study import parse
from seekwise.study.model import Study


def names() -> list[str]:
    return sorted(entry.name.removesuffix(".toml") for entry in _folder().iterdir() if entry.name.endswith(".toml"))


def text(name: str) -> str:
    return (_folder() / f"{name}.toml").read_text(encoding="utf-8")


def tune(target: str) -> Study:
    """The study behind `seekwise tune`, on this target."""
    study = parse.loads(text("tune"), "tune")
    return study.model_copy(update={"system": [study.system[0].model_copy(update={"target": target})]})


def open_shipped(name: str) -> tuple[Study, str]:
    return parse.loads(text(name), name), text(name)


def open_study(name: str) -> tuple[Study, str]:
    """(study, its text) of a file, or of a study that ships with the program."""
    path = Path(name)
    if not path.exists() and name in names():
        return open_shipped(name)
    if path.is_dir():
        raise UsageError(f"{name} is a folder, not a study", hint=f"did you mean `seekwise tune {name}`?")
    study = parse.load(path)
    return study, path.read_text(encoding="utf-8")


def _folder():
    return files("seekwise") / "studies"
