"""`seekwise drive`: virtual drives by the drive models, in real time, over NBD."""

from __future__ import annotations

import json
import math
import signal
from pathlib import Path

import click

from seekwise import commands
from seekwise.control import nbd
from seekwise.errors import RefusedError, SeekwiseError, UsageError
from seekwise.files import read_text
from seekwise_proof import _proof

REFUSALS = {"usage": UsageError, "refused": RefusedError, "failed": SeekwiseError}
HINTS = {
    "usage": "`seekwise explain` lists the drive models, `seekwise drive --help` the options",
    "refused": "stop what uses it, or name another --store or --socket",
    "failed": None,
}


class Assignment(click.ParamType):
    """`KEY=NUMBER`."""

    name = "key=number"

    def convert(self, value: str, param: click.Parameter | None, context: click.Context | None) -> tuple[str, float]:
        """(parameter, value); a value that is no finite number is a usage error (exit status 2)."""
        key, equals, number = value.partition("=")
        try:
            if not math.isfinite(float(number)):
                self.fail(f"{value!r} is no number that a drive can have", param, context)
            return key, float(number)
        except ValueError:
            self.fail(f"{value!r} is not KEY=NUMBER" if equals else f"{value!r} has no value", param, context)


@click.command()
@click.argument("model")
@click.option("--count", type=click.IntRange(1, 1024), default=1, show_default=True, help="Number of drives.")
@click.option(
    "--store",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder that stores the drives' content (default: memory).",
)
@click.option(
    "--socket", "sockets", multiple=True, type=click.Path(path_type=Path), help="Socket of each drive in turn."
)
@click.option(
    "--control", type=click.Path(path_type=Path), help="Control socket: `status`, `stop`, or a fault per line."
)
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="DRIVE:KIND[=VALUE][@TIME]",
    help="Inject a fault, e.g. 0:power-cut@10s, 1:slow=3, 2:bad=1000+8.",
)
@click.option("--set", "parameters", multiple=True, type=Assignment(), help="Change a parameter of the model.")
@click.option("--attach", is_flag=True, help="Attach to free /dev/nbdN; needs root and the nbd module.")
@click.option(
    "--log",
    type=click.Path(path_type=Path, dir_okay=False),
    help="CSV log of every request: arrival, due time, answer.",
)
@click.option(
    "--overrun-us",
    type=click.FloatRange(1),
    default=100.0,
    show_default=True,
    help="Answers later than this are overruns.",
)
@click.option(
    "--awake-us",
    type=click.FloatRange(0, 1e6),
    default=60.0,
    show_default=True,
    help="Busy-wait for this long before each answer, with processor idle states off; 0: neither.",
)
@click.option(
    "--transport-us",
    type=click.FloatRange(0, 1e3),
    default=None,
    show_default="measured at the start",
    help="Transport time between client and drive; each answer is sent earlier by this.",
)
@commands.seed("Seed of the platter positions at the start and of random faults.", default=0)
@click.option("--json", "as_json", is_flag=True, help="One JSON document when ready, one at the end.")
def command(
    model: str,
    count: int,
    store: Path | None,
    sockets: tuple[Path, ...],
    control: Path | None,
    faults: tuple[str, ...],
    parameters: tuple[tuple[str, float], ...],
    attach: bool,
    log: Path | None,
    overrun_us: float,
    awake_us: float,
    transport_us: float | None,
    seed: int,
    as_json: bool,
) -> None:
    """Serve virtual drives of MODEL until interrupted. MODEL is a name, or a model file (ID.toml)."""
    toml = _model_file(model)
    if attach:
        nbd.require(count)
    options = {
        "model": model,
        "toml": toml,
        "count": count,
        "store": store and str(store),
        "sockets": [str(path) for path in sockets],
        "control": control and str(control),
        "faults": list(faults),
        "parameters": dict(parameters),
        "log": log and str(log),
        "overrun_us": overrun_us,
        "awake_us": awake_us,
        "transport_us": transport_us,
        "seed": seed,
    }
    session = _Session(attach, as_json)
    before = {number: signal.signal(number, session.end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        report = json.loads(_proof.serve_drives(json.dumps(options), session.notify))
    except ValueError as error:
        refusal = json.loads(str(error))
        raise REFUSALS[refusal["why"]](refusal["sentence"], HINTS[refusal["why"]]) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        session.close()
    _show_report(report, as_json)


def _model_file(model: str) -> str | None:
    """The text of a model file; None for a name."""
    if not model.endswith(".toml"):
        return None
    try:
        return read_text(Path(model))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not a text file"
        raise UsageError(f"{model}: the model file cannot be read: {reason}") from None


class _Session:
    """What is to be done while the drives are served."""

    def __init__(self, attach: bool, as_json: bool) -> None:
        self.attach = attach
        self.as_json = as_json
        self.ended = False
        self.attached: list[nbd.Attachment] = []

    def end(self, *_: object) -> None:
        self.ended = True

    def notify(self, text: str | None) -> bool:
        if text is not None:
            notice = json.loads(text)
            if notice["notice"] == "ready":
                self._ready(notice)
            else:
                click.echo(f"drive {notice['drive']}: {notice['sentence']}", err=True)
        if self.ended:
            # While the drives still answer: what the kernel has cached of them can be written.
            self.close()
        return not self.ended

    def close(self) -> None:
        while self.attached:
            self.attached.pop().detach()

    def _ready(self, notice: dict) -> None:
        paths = notice["sockets"]
        if self.attach:
            for path in paths:
                self.attached.append(nbd.attach(path))
        devices = [attached.device for attached in self.attached]
        if self.as_json:
            del notice["notice"]
            click.echo(json.dumps({"schema": "seekwise.drive/1", **notice, "devices": devices}))
        else:
            for number, path in enumerate(paths):
                device = f"  {devices[number]}" if devices else ""
                click.echo(f"drive {number}  {notice['model']}  {notice['bytes'] / 1e9:.1f} GB  {path}{device}")
            both_us = sum(notice["transport"].values()) / 1e3
            click.echo(f"control  {notice['control']}", err=True)
            click.echo(f"between client and drive {both_us:.0f} us, taken off each answer", err=True)
        click.get_text_stream("stdout").flush()


def _show_report(report: dict, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(report))
        return
    for drive in report["drives"]:
        click.echo(
            f"drive {drive['drive']}  {drive['reads']} reads  {drive['writes']} writes  {drive['flushes']} flushes  "
            f"{drive['trims']} trims  late p50 {drive['late_us_p50']:.0f} us, p99 {drive['late_us_p99']:.0f} us, "
            f"max {drive['late_us_max']:.0f} us  {drive['overruns']} overruns"
        )
    answers = sum(drive[kind] for drive in report["drives"] for kind in ("reads", "writes", "flushes", "trims"))
    if report["overruns"]:
        limit = report["drives"][0]["overrun_limit_us"]
        click.echo(
            f"warning: {report['overruns']} of {answers} answers came more than {limit:.0f} us after the model's time; "
            "what was measured meanwhile is not valid",
            err=True,
        )
