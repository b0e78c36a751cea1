"""`seekwise verify KIND [FILE|FOLDER…]`: N of M against recorded truth, and every miss."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from time import monotonic
from typing import Any

import click

from seekwise import document
from seekwise.errors import Exit, UsageError
from seekwise.workload.study.quantity import time_text
from seekwise_proof.validate import _kinds, frame

# A line of progress is due after this long, and then each time.
QUIET_S = 2.0


class VerifyProgress:
    """Tells on standard error how far the simulated runs are, once they take longer than a moment."""

    def __init__(self) -> None:
        self.began = self.told = monotonic()

    def __call__(self, done: int, of: int) -> None:
        """After each run: a line every 2 s at most, none after the last run."""
        now = monotonic()
        if now - self.told >= QUIET_S and done < of:
            from seekwise import commands

            self.told = now
            left_s = (now - self.began) / done * (of - done)
            commands.progress(f"run {done} of {of}, about {time_text(left_s)} left")


class Kinds(click.Group):
    """A subcommand per module in `seekwise_proof.validate`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the modules that check something, in alphabetical order."""
        return _kinds.kinds()

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """None for a name that is no check."""
        return _command(name) if name in _kinds.kinds() else None


def _refuse_what_is_no_file(path: Path) -> None:
    """A pipe would be waited for and a device read without end: neither, nor below a folder."""
    for file in frame.below(path) if path.is_dir() else [path]:
        try:
            kind = file.stat().st_mode
        except OSError:
            # A table that is gone, of which other parts are there, is not foretold; anything else is a slip of the pen.
            if file == path and not any(part.name.startswith(f"{path.stem}.") for part in _siblings(path)):
                raise UsageError(
                    f"{path}: there is no such file or folder", "name files, or folders that are searched for them"
                ) from None
            continue  # a link that leads nowhere
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise UsageError(f"{file} is no ordinary file", "name files, or folders that are searched for them")


def _siblings(path: Path) -> list[Path]:
    return list(path.parent.iterdir()) if path.parent.is_dir() else []


def _command(kind: str) -> click.Command:
    module = _kinds.load(kind)

    def run(paths: tuple[str, ...], as_json: bool, **options: Any) -> int:
        for path in paths:
            _refuse_what_is_no_file(Path(path))
        report = module.verify([Path(path) for path in paths], {**options, "tell": VerifyProgress()})
        if as_json:
            click.echo(json.dumps(document.printed(report), ensure_ascii=False, indent=1))
        else:
            click.echo(getattr(module, "text", frame.text)(report))
        return Exit.DONE if report.met else Exit.NOT_MET

    parameters: list[click.Parameter] = [
        click.Argument(
            ["paths"], nargs=-1, required=getattr(module, "REQUIRES_FILES", True), metavar="[FILE|FOLDER]..."
        ),
        click.Option(["as_json", "--json"], is_flag=True, help="Print one JSON document."),
        *getattr(module, "OPTIONS", ()),
    ]
    return click.Command(
        kind, callback=run, params=parameters, help=module.__doc__, short_help=getattr(module, "SUMMARY", None)
    )


@click.command(cls=Kinds)
def command() -> None:
    """Check the models against recorded truth.

    Ends with status 5 when something is missed.
    """
