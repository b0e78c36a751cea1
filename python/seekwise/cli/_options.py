"""Options that several commands share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from seekwise import bounds
from seekwise.cli import _output
from seekwise.simulate.backends import NAMES
from seekwise.store.run_id import is_run_id
from seekwise.workload.study.quantity import TIME_FORM, parse_seconds

if TYPE_CHECKING:
    from typing import TypeAlias

    NumberType: TypeAlias = click.ParamType[float]
    TextType: TypeAlias = click.ParamType[str]
else:
    # Up to click 8.2 the class takes no arguments.
    NumberType = TextType = click.ParamType


class Duration(NumberType):
    """`30s`, `5m`, `1h` as seconds."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> float:
        """Seconds, more than 0 and finite; anything else is a usage error (exit status 2)."""
        try:
            seconds = parse_seconds(value)
        except ValueError:
            self.fail(f"{value!r} is not {TIME_FORM}, of more than 0 and at most a year", param, context)
        if not 0 < seconds < float("inf"):
            self.fail(f"{value!r} must be more than 0", param, context)
        return seconds


Callback = Callable[..., Any]
Decorator = Callable[[Callback], Callback]


def as_json(schema: str = "") -> Decorator:
    """`--json`; `schema` is named in its help."""
    text = f" (schema {schema})" if schema else ""
    return click.option("--json", "as_json", is_flag=True, help=f"Print one JSON document{text}.")


database = click.option(
    "--db",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Results database to use instead of $SEEKWISE_DB or ~/.local/share/seekwise/records.db.",
)


def _accepted(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> None:
    if names:
        from seekwise.control import kernel_faults

        kernel_faults.accept(names)


accept_kernel_fault = click.option(
    "--accept-kernel-fault",
    multiple=True,
    metavar="ID",
    callback=_accepted,
    expose_value=False,
    help="Do what this kernel is known to break on; the refusal names the ID.",
)
budget = click.option("--budget", type=Duration(), help="Fit the plan to this time, e.g. 10m.")


class RunName(TextType):
    """What a run may be called: not what names a run already."""

    name = "name"

    def convert(self, value: str, param: click.Parameter | None, context: click.Context | None) -> str:
        """The name as given; a usage error (exit status 2) for one by which the run could not be found."""
        if not value.strip() or value == "last" or is_run_id(value):
            self.fail(f"{value!r} names no run: `last` is the newest, and 20261121-1204-3f9a an id", param, context)
        return value


name = click.option("--name", type=RunName(), metavar="NAME", help="Name of the run, for `seekwise compare NAME NAME`.")


def seed(text: str, **more: Any) -> Decorator:
    """`--seed`, of whatever `text` says."""
    return click.option("--seed", type=click.IntRange(0, 2**63 - 1), help=text, **more)


def captured(text: str) -> Decorator:
    """`--root`: a captured machine in place of this one."""
    return click.option(
        "--root", type=click.Path(path_type=Path), default=Path("/"), metavar="TREE", callback=_patiently, help=text
    )


PATIENCE_S = 2.0


def _patiently(context: click.Context, _: click.Parameter, root: Path) -> Path:
    """Says after two seconds that a large capture is still being read, and how large one may be."""
    if root != Path("/") and not _output.asked_quiet():
        text = (
            f"reading {root}; a capture has at most {bounds.CAPTURE_MEMBERS:,} members, {bounds.CAPTURE_BYTES >> 20} MiB and "
            f"{bounds.CAPTURE_DEVICES:,} block devices, and the largest takes a minute"
        )
        timer = threading.Timer(PATIENCE_S, lambda: click.echo(text, err=True))
        timer.daemon = True
        timer.start()
        context.call_on_close(timer.cancel)
    return root


def common(function: Callback) -> Callback:
    """`--db` and `--json`."""
    return database(as_json()(function))


def carried_out(function: Callback) -> Callback:
    """Options of commands that measure."""
    for option in (
        click.option(
            "--destroy",
            multiple=True,
            metavar="NAME",
            help="Serial or /dev/disk/by-id path of a device whose content may be lost.",
        ),
        seed("Seed of the trial order and of every trial."),
        budget,
    ):
        function = option(function)
    return function


class Share(NumberType):
    """`90%` or `0.9` as 0.9."""

    name = "share"

    def __init__(self, most: float = 1.0) -> None:
        self.most = most

    def convert(self, value: object, param: click.Parameter | None, context: click.Context | None) -> float:
        """A share above 0 and at most `most`; anything else is a usage error (exit status 2)."""
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 < share <= self.most:
            example = min(0.9, self.most)
            self.fail(
                f"{value!r} is not a share such as {100 * example:g}% or {example:g}, at most {100 * self.most:g}%",
                param,
                context,
            )
        return share


backend = click.option("--backend", type=click.Choice(list(NAMES)), help="Backend that runs the trials.")


class NotEmpty(TextType):
    """Text that says something: an empty one would silently mean the default."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, context: click.Context | None) -> str:
        """The text as given; blanks alone are a usage error (exit status 2)."""
        if not value.strip():
            self.fail("nothing is named", param, context)
        return value


target = click.option(
    "--target", type=NotEmpty(), metavar="PATH|DEVICE", help="Folder or block device instead of the study's."
)


def spread(function: Callback) -> Callback:
    """`--workers` and `--on`: where simulated trials run."""
    function = click.option(
        "--on",
        type=NotEmpty(),
        metavar="WHERE",
        help="Spread simulated trials over the workers of a running Dask scheduler: tcp://HOST:PORT or tls://HOST:PORT.",
    )(function)
    return click.option(
        "--workers",
        type=click.IntRange(1, 4096),
        metavar="N",
        help="Simulate N trials at once; every processor by default.",
    )(function)
