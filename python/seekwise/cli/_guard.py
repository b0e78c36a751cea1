"""`seekwise apply --guard`: starts the guard and follows it; leaving does not end it."""

from __future__ import annotations

import json
import time

import click

from seekwise import invocation
from seekwise.cli import _output
from seekwise.errors import NotMetError, UsageError
from seekwise.settings import guard_log
from seekwise.settings.asked import Asked
from seekwise.settings.guard import job, launch
from seekwise.settings.guard_log import GuardDocument

LOOK_S = 0.5
SECONDS_MIN = 10
START_S = 30


def start(what: Asked, ways: tuple[str, ...], seconds: float, limit: float, dry_run: bool, as_json: bool) -> None:
    """Checks what can be checked, starts the worker, prints what it sees until it has decided."""
    if seconds < SECONDS_MIN:
        raise UsageError(f"a guard needs at least {SECONDS_MIN} s to see anything", "for example `--guard 10m`")
    if dry_run:
        job.check(what)
        click.echo(
            f"would watch {', '.join(what.wanted)} for {seconds / 2:.0f} s, set the values, watch for {seconds:.0f} s, and roll back "
            f"if the load is worse by more than {100 * limit:.0f} %"
        )
        return
    identity = job.begun(what, ways, seconds, limit)
    how, pid = launch.start(identity)
    click.echo(f"guard {identity} runs as {how} and goes on without this terminal", err=True)
    try:
        document = _follow(identity, pid)
    except KeyboardInterrupt:
        click.echo(f"\nguard {identity} goes on; `seekwise status` shows how it ends", err=True)
        raise
    if as_json:
        click.echo(json.dumps(document, indent=2))
    else:
        _print(document)
    if document["outcome"] == "rolled back":
        raise NotMetError("the settings were rolled back", f"what the guard saw: {guard_log.folder()}/{identity}.json")
    if document["outcome"] == "failed":
        raise job.failure(document)


def _follow(identity: str, pid: int | None) -> GuardDocument:
    said = ""
    begun = time.monotonic()
    while True:
        document = job.job(identity)
        line = f"{document['outcome']}: {document['headline']}" if document["headline"] else ""
        if line and line != said and document["outcome"] not in job.DONE:
            click.echo(line, err=True)
            said = line
        if document["outcome"] in job.DONE:
            return document
        if not launch.is_running(identity, pid) and (
            document["outcome"] != "starting" or time.monotonic() - begun > START_S or pid is not None
        ):
            # It may have written its last word between our two looks.
            if job.job(identity)["outcome"] not in job.DONE:
                job.settle(identity)
            return job.job(identity)
        time.sleep(LOOK_S)


def _print(document: GuardDocument) -> None:
    for metric in (document.get("comparison") or {}).get("metrics", ()):
        if metric["before"] != metric["before"] or (metric["before"] == 0 and metric["after"] == 0):
            continue
        low, high = metric["low"], metric["high"]
        bounds = (
            f", {100 * (low - 1):+.0f} to {100 * (high - 1):+.0f} %" if low is not None and high is not None else ""
        )
        click.echo(f"{metric['name']}: {metric['before']:.3g} → {metric['after']:.3g} {metric['unit']}{bounds}")
    for line in document.get("restored", ()):
        click.echo(line)
    click.echo(f"{document['outcome']}: {document['headline']}")
    if document["outcome"] == "kept":
        click.echo(err=True)
        _output.to_person(f"next: {invocation.line('seekwise status')}  # watches it; `seekwise revert` undoes it")
