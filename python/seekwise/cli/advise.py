"""`seekwise advise RUN [--for …]`: which setting for which work, and what following it costs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import click

from seekwise import invocation
from seekwise.cli import _options, _shown
from seekwise.errors import UsageError
from seekwise.linux.members import zfs_members
from seekwise.linux.resolve import resolve_path
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import open_tree
from seekwise.report import of_run
from seekwise.report.layout import print_columns, print_lines, say
from seekwise.settings import classes, drive_class
from seekwise.store.database import Store
from seekwise.workload.purpose import OPTION


@dataclass(frozen=True)
class ClassChoices:
    """`advise --classes --json`."""

    SCHEMA: ClassVar = "seekwise.drive-classes/1"

    headline: str
    classes: list[classes.ClassChoice]
    udev: str


@click.command("advise")
@click.argument("run", default="last", metavar="[RUN]")
@click.option(
    "--for",
    "purpose",
    metavar="USE",
    help=f"Use, group or TOML file to advise for, as in `tune --for`, or a purpose: {OPTION}.",
)
@click.option("--system", metavar="NAME", help="Advise for this system of a study with several.")
@click.option(
    "--device", metavar="PATH|DEVICE", help="Say what suits the class of the drives below, without measuring."
)
@click.option(
    "--classes",
    "every_class",
    is_flag=True,
    help="Say what a distribution or fleet should make the default for each class of drive.",
)
@click.option("--print", "form", type=click.Choice(["udev"]), help="With --classes: print the rules only.")
@click.option("--all", "everything", is_flag=True, help="With --classes: show reasons and sources.")
@_options.captured("With --device: of a captured machine instead.")
@_options.common
def command(
    run: str,
    purpose: str | None,
    system: str | None,
    device: str | None,
    every_class: bool,
    form: str | None,
    everything: bool,
    root: Path,
    db: Path | None,
    as_json: bool,
) -> None:
    """Say what to set according to RUN (default: the last).

    With --device, what suits the class of drive, and with --classes, what to
    make the default on all machines: both without measuring.
    """
    if root != Path("/") and device is None:
        raise UsageError("--root belongs to --device", f"`seekwise advise --device / --root {root}`")
    if purpose is not None and set(",=") & set(purpose) and not Path(purpose).exists():
        raise UsageError(
            f"`--for {purpose}`: advice is for one use, group or purpose at a time",
            f"`seekwise tune PATH --for {purpose}` weighs them, and `seekwise advise` of that run without --for, too",
        )
    if every_class:
        if device is not None or system is not None:
            raise UsageError("--classes asks about all machines", "leave --device and --system out")
        _classes(purpose, as_rules=form is not None, everything=everything, as_json=as_json)
        return
    if form is not None or everything:
        raise UsageError("--print and --all belong to --classes", "`seekwise advise --classes --print udev`")
    if device is not None:
        _class(device, root, as_json)
        return
    with Store.open(db, create=False) as store:
        advised = of_run.of_runs(store, store.run(run)).advised(purpose, system)
    if as_json:
        _shown.echo_json(advised.document())
    else:
        advised.show(_shown.out())


def _classes(group: str | None, *, as_rules: bool, everything: bool, as_json: bool) -> None:
    """A line for each class of drive, and the rules that say the same."""
    if group is not None and group not in classes.groups():
        raise UsageError(f"no evidence ships for `{group}`", f"groups of uses: {', '.join(classes.groups())}")
    choices = [classes.choice(drive_class.name, group) for drive_class in classes.SHOWN]
    if as_rules:
        click.echo(classes.rules(choices), nl=False)
        return
    if as_json:
        _shown.echo_json(ClassChoices(classes.headline(choices, group), choices, classes.rules(choices)))
        return
    out = _shown.out()
    print_lines([invocation.in_text(classes.FOR_WHOM), classes.headline(choices, group)], out)
    say("", out)
    rows = [classes.row(choice) for choice in choices]
    print_columns(("Class of drive", "Default", "Sure", "Evidence: number of sources"), rows, out)
    print_lines([classes.SURE_TEXT], out)
    if everything:
        for choice in choices:
            say("", out)
            print_lines(classes.reasons(choice), out)
    say("", out)
    shown = None if everything else 1
    print_lines([*classes.quicker(choices)[:shown], *classes.CAUTIONS[:shown]], out)
    again = f"seekwise advise --classes{f' --for {group}' if group else ''}"
    say(f"next: {invocation.line(again)} --print udev{'' if everything else ' # reasons: --all'}", out)


def _class(target: str, root: Path, as_json: bool) -> None:
    """A sentence for each drive of another class below the target."""
    tree = open_tree(root)
    stack = read_stack(tree)
    of_zfs = zfs_members(tree, stack)
    leaves = reversed(resolve_path(stack, target).leaves)
    drives = {(drive_class.class_of(leaf), leaf.scheduler, leaf.name in of_zfs): leaf for leaf in leaves}
    advices = [drive_class.advice(drive, target, of_zfs=drive.name in of_zfs) for drive in drives.values()]
    if as_json:
        _shown.echo_json(drive_class.ClassAdvices(advices))
        return
    said = [line for each in advices for line in (each.sentence, *each.caps)]
    print_lines(list(dict.fromkeys(said)), _shown.out())
