"""`tune` without root: nothing is measured in vain. Says what root would compare, and what the nearest drive model
says."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

import click

from seekwise.errors import MissingError
from seekwise.measure.live import candidates
from seekwise.workload.study.quantity import time_text

if TYPE_CHECKING:
    from seekwise.measure.kernel.target import Target
    from seekwise.measure.live.planning import Request


def answer(request: Request, target: Target) -> None:
    """Prints what is known without measuring, and ends with status 4."""
    compared = " and ".join(request.vary) or ", ".join(candidates.offered_schedulers(target)) or "the settings"
    uses = f"`{request.uses}`" if request.uses else "typical uses"
    for line in target.lines:
        click.echo(line)
    model = nearest_model(target)
    click.echo(f"\nWith root: compares {compared} under {uses}, in {time_text(request.budget)}.")
    click.echo(
        f"Without: `seekwise tune model:{model}` simulates the same for a drive like this one; it measures nothing."
    )
    click.echo("`seekwise devices` shows the stack, `seekwise explain SCHEDULER` what each scheduler is for.")
    raise MissingError(
        "nothing was measured: switching settings needs root",
        hint=f"run this line: sudo {_program()} {shlex.join(sys.argv[1:])}",
    )


def _program() -> str:
    path = os.path.abspath(sys.argv[0])
    return path if os.path.exists(path) else "seekwise"


def nearest_model(target: Target) -> str:
    """A shipped drive model of the same kind as the first drive of the target."""
    device = target.leaves[0]
    if device.kind == "nvme":
        return "samsung_990_pro_2tb"
    return "generic_1tb_sata" if device.rotational and device.kind != "virtio" else "crucial_mx500_1tb"
