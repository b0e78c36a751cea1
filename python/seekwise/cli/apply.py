"""`seekwise apply`: sets what won, or what is asked, until `seekwise revert`; or prints it in another form."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import click

from seekwise import invocation
from seekwise.cli import _confirm, _options, _output, _shown
from seekwise.control import attributes
from seekwise.control.settings import SettingRefused
from seekwise.errors import RefusedError, SeekwiseError, UsageError
from seekwise.linux.block_device import Stack
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import open_tree
from seekwise.settings import apply as applying
from seekwise.settings import asked, conflicts, controllers, forms, history, ncq
from seekwise.settings import persist as persisting
from seekwise.settings.asked import Asked
from seekwise.settings.conflicts import Conflict
from seekwise.workload.purpose import OPTION

LIMIT = 0.1
"""How much worse is too much, of --guard."""

Values = dict[str, dict[str, str]]
"""{device: {attribute: value}}."""


@dataclass(frozen=True)
class Apply:
    """`apply --json`. With --print only `form`, `wanted` and `files` tell more than that nothing was set."""

    SCHEMA: ClassVar = "seekwise.apply/1"

    applied: bool
    """Whether anything was set; false with --dry-run and --print."""
    reason: str
    wanted: Values
    before: Values = field(default_factory=dict)
    seen: Values = field(default_factory=dict)
    """Values as read back."""
    set_lines: tuple[str, ...] = ()
    undo_lines: tuple[str, ...] = ()
    files: Sequence[forms.File] = ()
    conflicts: Sequence[Conflict] = ()
    form: str = ""


@click.command("apply")
@click.argument("run", required=False, metavar="[RUN]")
@click.option("--device", "targets", multiple=True, metavar="PATH|DEVICE", help="Set it on every drive below this.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting, e.g. scheduler=bfq or ncq=off. Repeatable.",
)
@click.option("--for", "purpose", metavar="USE", help=f"What RUN recommends for this use, or purpose: {OPTION}.")
@click.option("--system", metavar="NAME", help="Only this system of a RUN with several.")
@click.option(
    "--persist",
    "ways",
    multiple=True,
    type=click.Choice(list(forms.PERSISTENT)),
    help="Keep the settings after a restart.",
)
@click.option(
    "--accept-conflicts", is_flag=True, help="Persist even if something on this machine would override the value."
)
@click.option(
    "--guard", type=_options.Duration(), help="Compare the load before and after; roll back if it gets worse."
)
@click.option("--limit", type=_options.Share(), help="With --guard: how much worse is too much; default: 10%.")
@click.option(
    "--confirm",
    type=_options.Duration(),
    help="Undo it by itself after this time, unless somebody confirms: Enter, or --keep.",
)
@click.option("--keep", is_flag=True, help="Confirm what --confirm has set, from any terminal.")
@click.option(
    "--print",
    "form",
    type=click.Choice(list(forms.FORMS)),
    help="Print the settings in this form and change nothing; needs no root.",
)
@click.option(
    "--for-capture",
    "capture",
    type=click.Path(path_type=Path, exists=True),
    metavar="FILE",
    help="With --print: for the machine in this capture.",
)
@click.option("--dry-run", is_flag=True, help="Check and print, change nothing.")
@_options.accept_kernel_fault
@_options.database
@_options.as_json()
def command(
    run: str | None,
    targets: tuple[str, ...],
    settings: tuple[str, ...],
    purpose: str | None,
    system: str | None,
    ways: tuple[str, ...],
    accept_conflicts: bool,
    guard: float | None,
    limit: float | None,
    confirm: float | None,
    keep: bool,
    form: str | None,
    capture: Path | None,
    dry_run: bool,
    db: Path | None,
    as_json: bool,
) -> None:
    """Set what RUN (or `last`) recommends, or what you name.

    `--device PATH --set NAME=VALUE` names settings. `seekwise revert` undoes it.
    """
    if keep:
        if any((run, targets, settings, ways, purpose, system, guard, confirm, form, dry_run)):
            raise UsageError(
                "--keep confirms what is set, so it goes with nothing but --json", "`seekwise apply --keep`"
            )
        _confirm.keep(as_json)
        return
    if bool(targets) != bool(settings) or (run is None) == (not targets) or (targets and (purpose or system)):
        options = [("for", purpose), ("system", system)]
        kept = "".join(f" --{name} {shlex.quote(value)}" for name, value in options if value and not targets)
        by_hand = "" if kept else " or `seekwise apply --device sda --set scheduler=bfq`"
        hint = f"`seekwise apply last{kept}`{by_hand}"
        both = run is not None and targets
        raise UsageError(f"name {'either ' if both else ''}a run, or a device and what to set", hint)
    if capture is not None and form is None:
        raise UsageError("--for-capture is about another machine, so it only prints", "add `--print udev`, for example")
    if form is not None and (ways or guard or confirm or dry_run):
        raise UsageError("--print changes nothing, so it does not go with --persist, --guard, --confirm or --dry-run")
    if limit is not None and guard is None:
        raise UsageError("--limit is for --guard, which compares the load", "add `--guard 10m`, or leave it out")
    if confirm is not None:
        _confirm.check(confirm)
        if guard is not None:
            raise UsageError("--confirm does not go with --guard, which decides by itself", "leave one of them out")
    stack = read_stack(capture or Path("/"))
    what = asked.by_hand(targets, settings, stack) if targets else _recommended(run or "last", purpose, db, system)
    if form is not None:
        _print_form(form, what, stack, as_json)
        return
    if what.controller:
        _controller(what, stack, as_json)
        if not what.wanted:
            return
    if not what.wanted:
        if as_json:
            _shown.echo_json(Apply(False, what.reason, {}))
        else:
            from seekwise.report.layout import print_lines  # a sentence for each purpose is long

            print_lines([f"{what.reason}. Nothing to set."], _shown.out())
        return
    asked.check_values(what.wanted, stack)
    files = _files(ways, what, stack)
    conflicting = conflicts.find(what.wanted, ways, open_tree(), stack)
    _refuse_or_name(conflicting, accept_conflicts or dry_run)
    if guard is not None:
        from seekwise.cli import _guard  # its statistics take a second to load

        _guard.start(what, ways, guard, LIMIT if limit is None else limit, dry_run, as_json)
        return
    if confirm is not None and not dry_run:
        _confirm.start(what, ways, confirm, as_json)
        return
    done = _set(what, files, dry_run, stack)
    _print(done, files, conflicting, dry_run, what.reason, as_json)


def _recommended(run: str, purpose: str | None, db: Path | None, system: str | None) -> Asked:
    """What a run recommends, for all of its systems or the one named."""
    from seekwise.report import of_run  # loads the statistics, which values set by hand do not need
    from seekwise.store.database import Store

    with Store.open(db, create=False) as store:
        named = store.run(run)
        report = of_run.of_runs(store, named)
        return asked.recommended(report.advised(purpose, system), history.evidence_of(named, store))


def _files(ways: tuple[str, ...], what: Asked, stack: Stack) -> list[forms.File]:
    """Files are built and checked before anything is set: what cannot be kept is not begun."""
    made = {way: persisting.file_for(way, what.wanted, stack) for way in ways}
    for way, file in made.items():
        if not file.path.is_absolute() or file.path == Path("/etc/default/grub"):
            raise UsageError(
                f"seekwise does not edit the boot loader's files, so --persist {way} cannot install this",
                f"`--print {way}` shows the line to add",
            )
    return list(made.values())


def _set(what: Asked, files: list[forms.File], dry_run: bool, stack: Stack) -> applying.Applied:
    try:
        if dry_run:
            return applying.preview(what.wanted)
        done = applying.apply(what.wanted, files=files, reason=what.reason)
        if done.entry is not None or files:
            paths = tuple(str(file.path) for file in files)
            made = history.application_of(
                what.wanted, done.before, stack, reason=what.reason, persisted=paths, evidence=what.evidence
            )
            history.remember(made)
        return done
    except SettingRefused as error:
        device = stack.devices.get(error.refusal.device)
        if error.refusal.attribute == "device/queue_depth" and device is not None and device.queue_depth is not None:
            error.hint = ncq.why_refused(device)
        raise


def _refuse_or_name(conflicting: list[conflicts.Conflict], go_on: bool) -> None:
    """Names every conflict; refuses unless told to go on when one of them would undo ours."""
    lost = [conflict for conflict in conflicting if conflict.overrides_ours]
    for conflict in conflicting:
        if not conflict.overrides_ours or go_on:
            click.echo(f"{'warning' if conflict.overrides_ours else 'note'}: {conflict.text}", err=True)
    if lost and not go_on:
        first, *rest = [conflict.text for conflict in lost]
        raise RefusedError(
            "; ".join([first, *rest]),
            "change or remove that line, choose a --persist way that acts later, or add --accept-conflicts",
        )


def _print_form(form: str, what: Asked, stack: Stack, as_json: bool) -> None:
    wanted = {name: dict(values) for name, values in what.wanted.items()}
    for device, switches in what.controller.items():
        for name, on in switches.items():
            key, value = ("device/queue_depth", "32" if on else "1") if name == "ncq" else ("queue/write_cache", "")
            wanted.setdefault(device, {})[key] = value
    if not wanted:
        raise SeekwiseError(f"{what.reason}: nothing to set, so there is nothing to print")
    notes = asked.check(what.wanted, stack) if form != "tw_cli" else ()
    if what.controller and form != "tw_cli":
        raise UsageError(
            f"{', '.join(what.controller)}: command queueing is the controller's affair",
            "`--print tw_cli` has the command",
        )
    file = forms.FORMS[form](wanted, stack)
    # Who prints a file saves it himself: `revert` knows nothing of it.
    file = replace(file, text=file.text.replace(forms.HEAD, f"# From seekwise; save it as {file.path}.\n"))
    if as_json:
        file = replace(file, notes=(*notes, *file.notes))
        _shown.echo_json(Apply(False, what.reason, wanted, files=(file,), form=form))
        return
    click.echo(file.text, nl=False)
    for note in (*notes, *file.notes):
        click.echo(f"note: {note}", err=True)


def _controller(what: Asked, stack: Stack, as_json: bool) -> None:
    """Prints the exact command for each unit. It is printed and never run: what a controller's tool sets is in no
    journal."""
    units = controllers.units(stack)
    for device, switches in what.controller.items():
        for name, on in switches.items():
            if device not in units:
                raise SeekwiseError(f"{device}: its place at the controller cannot be read from sysfs")
            state = controllers.read(units[device])
            change = controllers.change(units[device], name, on)
            if state and (now := getattr(state, name)):
                click.echo(f"{device} {name} is {now} ({state.evidence.get(name, '')})", err=as_json)
            click.echo(shlex.join(change.command), err=as_json)
            if change.unknown is not None:
                click.echo(f"note: {change.unknown}", err=True)
            click.echo("note: run that as root; `seekwise revert` does not undo it", err=True)


def _print(
    done: applying.Applied,
    files: list[forms.File],
    conflicting: list[Conflict],
    dry_run: bool,
    reason: str,
    as_json: bool,
) -> None:
    if as_json:
        lines = done.lines
        _shown.echo_json(
            Apply(not dry_run, reason, done.wanted, done.before, done.seen, lines.set, lines.undo, files, conflicting)
        )
        return
    for device, values in done.wanted.items():
        for name, value in values.items():
            before, seen = done.before[device].get(name), done.seen[device].get(name)
            asked = "the kernel's default" if (name, value) == (attributes.WBT, "-1") else value
            shown = asked if dry_run else seen
            word = "is set already" if before == shown else "would be set" if dry_run else "is set"
            click.echo(f"{device} {name}: {before} → {shown}, {word}")
        for name in done.moved(device):
            before, seen = done.before[device].get(name), done.seen[device].get(name)
            click.echo(f"{device} {name}: {before or 'absent'} → {seen or 'absent'}, moved by the kernel")
    if done.lines.set:
        click.echo("\nset it\n" + "".join(f"  {line}\n" for line in done.lines.set))
    if done.lines.undo:
        click.echo("undo it\n" + "".join(f"  {line}\n" for line in done.lines.undo))
    for file in files:
        click.echo(
            f"{file.path}{' would hold' if dry_run else ''}\n"
            + "".join(f"  {line}\n" for line in file.text.splitlines())
        )
        for note in file.notes:
            click.echo(f"note: {note}", err=True)
    if dry_run:
        click.echo(f"next: {invocation.again('--dry-run') or 'the same without `--dry-run`'}", err=True)
    else:
        _output.to_person(f"next: {invocation.line('seekwise status')}  # watches it; `seekwise revert` undoes it")
