"""`seekwise apply`: sets what won, or what is asked, until `seekwise revert`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from seekwise.advise import apply as applying
from seekwise.advise import persist as persisting
from seekwise.cli import _live_runs
from seekwise.control import attributes
from seekwise.errors import UsageError
from seekwise.linux.resolve import resolve_path
from seekwise.linux.stack import read_stack

SCHEMA = "seekwise.apply/1"

Wanted = dict[str, dict[str, str]]


@click.command("apply")
@click.argument("run", required=False, metavar="[RUN]")
@click.option("--device", "targets", multiple=True, metavar="PATH|DEVICE", help="Set it on all drives below this.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting, e.g. scheduler=bfq. Repeatable."
)
@click.option("--for", "purpose", metavar="WORK", help="What RUN recommends for this work, as in `seekwise advise`.")
@click.option(
    "--persist", "ways", multiple=True, type=click.Choice(list(persisting.WAYS)), help="Keep it over a reboot."
)
@click.option("--dry-run", is_flag=True, help="Check and print, change nothing.")
@click.option("--db", type=click.Path(path_type=Path, dir_okay=False), help="File of records instead of the usual one.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(
    run: str | None,
    targets: tuple[str, ...],
    settings: tuple[str, ...],
    purpose: str | None,
    ways: tuple[str, ...],
    dry_run: bool,
    db: Path | None,
    as_json: bool,
) -> None:
    """Set what RUN (or `last`) recommends, or the settings named by --device and --set; `seekwise revert` takes it back."""
    if bool(targets) != bool(settings) or (run is None) == (not targets) or (targets and purpose):
        raise UsageError(
            "name a run, or a device and what to set",
            "`seekwise apply last` or `seekwise apply --device sda --set scheduler=bfq`",
        )
    wanted, reason = _asked(targets, settings) if targets else _recommended(run or "last", purpose, db)
    if not wanted:
        if as_json:
            click.echo(json.dumps({"schema": SCHEMA, "applied": False, "reason": reason, "wanted": {}}, indent=2))
        else:
            click.echo(f"{reason}; nothing to set")
        return
    # Files are built and checked before anything is set: what cannot be kept is not begun.
    files = [persisting.file_for(way, wanted, read_stack()) for way in dict.fromkeys(ways)]
    done = applying.preview(wanted) if dry_run else applying.apply(wanted, files=files, reason=reason)
    if as_json:
        click.echo(json.dumps(_document(done, files, dry_run, reason), indent=2))
    else:
        _print(done, files, dry_run)


def _asked(targets: tuple[str, ...], settings: tuple[str, ...]) -> tuple[Wanted, str]:
    """Each setting on the devices on which it acts below each target."""
    stack = read_stack()
    wanted: Wanted = {}
    for target in targets:
        found = resolve_path(stack, target)
        for text in settings:
            name, sign, value = text.partition("=")
            if not sign or not name or not value:
                raise UsageError(f"{text!r} is not NAME=VALUE", "for example `--set scheduler=bfq`")
            short = name.strip().removeprefix("queue/").removeprefix("device/").removeprefix("md/")
            devices = found.devices_for(short.replace("iosched.", "iosched/"))
            if not devices:
                raise UsageError(f"nothing below {target} has the setting {name}", "`seekwise devices` shows the stack")
            for device in devices:
                wanted.setdefault(device.name, {})[name.strip()] = value.strip()
    return wanted, "asked for"


def _recommended(run: str, purpose: str | None, db: Path | None) -> tuple[Wanted, str]:
    from seekwise.advise import recommend, workloads
    from seekwise.analysis import outcome
    from seekwise.store.database import Store

    with Store.open(db, create=False) as store:
        named = store.run(run)
        if _live_runs.is_live(named.plan):
            return _live_runs.recommended(store, named, purpose)
        workload = workloads.find(purpose) if purpose else None
        found = outcome.of(store, named)
    if workload is None:
        best = outcome.recommended(found.verdicts, found.plan)
        setting, headline = (best[0] if best else None), found.content.advice.headline
    else:
        advised = recommend.for_workload(found, workload)
        setting, headline = advised.setting, advised.advice.headline
    reason = f"run {found.run.run_id}: {headline}"
    if setting is None:
        return {}, reason
    if found.plan.backend != "kernel":
        raise UsageError(
            f"run {found.run.run_id} did not measure this machine ({found.plan.backend})",
            "`sudo seekwise tune PATH` measures; `--device … --set …` sets whatever you like",
        )
    return outcome.wanted(setting, found.plan), reason


def _document(done: applying.Applied, files: list[persisting.File], dry_run: bool, reason: str) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "applied": not dry_run,
        "reason": reason,
        "wanted": done.wanted,
        "before": done.before,
        "seen": done.seen,
        "moved": {device: list(done.moved(device)) for device in done.wanted},
        "set_lines": list(done.lines.set),
        "undo_lines": list(done.lines.undo),
        "files": [{"path": str(file.path), "text": file.text, "notes": list(file.notes)} for file in files],
    }


def _asked_value(name: str, value: str) -> str:
    return "the kernel's default" if (name, value) == (attributes.WBT, "-1") else value


def _print(done: applying.Applied, files: list[persisting.File], dry_run: bool) -> None:
    for device, values in done.wanted.items():
        for name, value in values.items():
            before, seen = done.before[device].get(name), done.seen[device].get(name)
            word = "would be set" if dry_run else ("is set already" if before == seen else "is set")
            shown = _asked_value(name, value) if dry_run else seen
            click.echo(f"{device} {name}: {before} → {shown}, {word}")
        for name in done.moved(device):
            before, seen = done.before[device].get(name), done.seen[device].get(name)
            click.echo(f"{device} {name}: {before or 'absent'} → {seen or 'absent'}, moved by the kernel")
    click.echo("\nset it\n" + "".join(f"  {line}\n" for line in done.lines.set))
    click.echo("take it back\n" + "".join(f"  {line}\n" for line in done.lines.undo))
    for file in files:
        click.echo(
            f"{file.path}{' would hold' if dry_run else ''}\n"
            + "".join(f"  {line}\n" for line in file.text.splitlines())
        )
        for note in file.notes:
            click.echo(f"note: {note}", err=True)
    click.echo("next: seekwise apply … without --dry-run" if dry_run else "next: seekwise revert takes it back")
