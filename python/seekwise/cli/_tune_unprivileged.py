"""`tune` without root: nothing is measured in vain. Says what root would compare, and what the nearest drive model
says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from seekwise import invocation
from seekwise.errors import MissingError
from seekwise.measure.live import candidates
from seekwise.workload.study.quantity import time_text

if TYPE_CHECKING:
    from seekwise.measure.kernel.target import Target
    from seekwise.measure.live.planning import Request

FLASH = "crucial_mx500_1tb"


def answer(request: Request, target: Target) -> None:
    """Prints what is known without measuring, and ends with status 4."""
    compared = " and ".join(request.vary) or ", ".join(candidates.offered_schedulers(target)) or "the settings"
    uses = f"`{request.uses}`" if request.uses else "typical uses"
    for line in target.lines:
        click.echo(line)
    model, stand_in = nearest_model(target)
    click.echo(f"\nWith root: compares {compared} under {uses}, in {time_text(request.budget)}.")
    for text in (
        f"Without: `seekwise tune model:{model}` simulates the same for {stand_in or 'a drive like this one'}; it measures nothing.",
        "`seekwise devices` shows the stack, `seekwise explain SCHEDULER` what each scheduler is for.",
    ):
        click.echo(invocation.in_text(text))
    raise MissingError(
        "nothing was measured: switching settings needs root",
        hint=invocation.with_sudo(),
    )


def nearest_model(target: Target) -> tuple[str, str]:
    """A shipped drive model like the first drive of the target; in words, where it only stands in for it."""
    device = target.leaves[0]
    if device.kind == "virtio":
        return "samsung_pm9a3/virtio", f"a guest's disk over a server's NVMe SSD in place of {device.name}"
    if device.kind == "nvme":
        return "samsung_990_pro_2tb", ""
    return "generic_1tb_sata" if device.rotational else FLASH, ""
