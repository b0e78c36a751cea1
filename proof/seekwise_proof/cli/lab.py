"""`seekwise lab STUDY`: carry out a study under a real kernel on virtual drives, in virtual time."""

from __future__ import annotations

from pathlib import Path

import click

from seekwise import commands
from seekwise.errors import UsageError
from seekwise.simulate.protocol import Options
from seekwise.workload.study import starters


@click.command("lab")
@click.argument("study", required=False, metavar="STUDY")
@click.option("--build", is_flag=True, help="Only fetch the packages and build the guests.")
@click.option("--kernel", help="Kernel for systems that name none.")
@click.option(
    "--guests", type=click.IntRange(1, 64), help="Virtual machines at once; by default one per idle processor."
)
@click.option("--target", metavar="MODEL", help="Drive model instead of the study's, e.g. generic_1tb_sata.")
@commands.seed("Seed of the order and of every trial.")
@commands.budget
@commands.common
def command(
    study: str | None,
    build: bool,
    kernel: str | None,
    guests: int | None,
    target: str | None,
    seed: int | None,
    budget: float | None,
    db: Path | None,
    as_json: bool,
) -> None:
    """Run STUDY under a real kernel in a VM, on virtual drives.

    fio, Debian's kernel and real md arrays in qemu.

    Needs neither root nor drives; the time is virtual, so a busy machine changes nothing but how long you wait.
    """
    from seekwise_proof.testbed import backend, image, kernels

    if build:
        if study is not None:
            raise UsageError("`--build` runs nothing, so it takes no study")
        chosen = [kernels.find(kernel)] if kernel else list(kernels.KERNELS.values())
        for known in chosen:
            guest = image.build(known, commands.progress)
            click.echo(f"{known.series}  {guest.release}  image {guest.digest}  {guest.initramfs}")
        return
    if study is None:
        raise UsageError("which study?", hint="a TOML file, or one of: " + ", ".join(starters.names()))
    opened, text = starters.open_study(study)
    named = kernels.find(kernel).series if kernel else None
    systems = [
        system if system.kernel or not named else system.model_copy(update={"kernel": named})
        for system in opened.system
    ]
    opened = opened.model_copy(update={"backend": "lab", "system": systems})
    options = Options(target, guests=guests or backend.default_guests())
    plan, carrier = commands.planned(opened, options, seed=seed, budget_s=budget)
    commands.carried_out(plan, carrier, text, target=target, db=db, as_json=as_json, report_folder=None)
