"""`seekwise characterize DEVICE`: what a drive is like, measured by reading alone."""

from __future__ import annotations

import json
from pathlib import Path

import click

from seekwise.cli import _options, _output
from seekwise.document import printed
from seekwise.errors import SeekwiseError, UsageError
from seekwise.files import write_product
from seekwise.linux.stack import read_stack


@click.command()
@click.argument("device", type=click.Path(path_type=Path))
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="Write the document to this file too.")
@_options.as_json()
def command(device: Path, output: Path | None, as_json: bool) -> None:
    """Measure the properties of a drive.

    Rotation, zones, seeks, read-ahead, cache, and latency by size and depth. Only reads; needs root for a device. Other programs that use the drive at the same time disturb the measurement. What reading cannot
    show is listed as not seen.
    """
    from seekwise.measure.probe import characterize
    from seekwise.measure.probe.drives import ProbedDevice

    if not device.exists():
        raise UsageError(f"{device}: there is no such device", "`seekwise devices` lists the devices")
    if not device.is_block_device():
        raise UsageError(f"{device}: is no block device", "`seekwise devices` lists the devices")
    drive = ProbedDevice(device)
    try:
        found = characterize.characterize(drive, lambda what: _output.progress(f"measuring: {what}"))
    finally:
        drive.close()
    device_name = device.resolve().name
    known = read_stack().devices.get(device_name)
    found.doubts = characterize.doubts(
        found,
        known.transport if known else None,
        is_partition=Path("/sys/class/block", device_name, "partition").exists(),
    )
    found.device = str(device)
    text = json.dumps(printed(found), indent=1)
    if output is not None:
        try:
            write_product(output, text + "\n")
        except OSError as error:
            raise SeekwiseError(f"{output}: cannot be written: {error.strerror}") from None
    click.echo(text if as_json else "\n".join(characterize.lines(found)))
