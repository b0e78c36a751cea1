"""`seekwise apply --confirm`: settings that are undone unless somebody confirms them in time; leaving does not end the
time."""

from __future__ import annotations

import json
import os
import select
import sys
import time

import click

from seekwise import invocation
from seekwise.cli import _output
from seekwise.errors import MissingError, NotMetError, UsageError
from seekwise.settings import guard_log
from seekwise.settings.asked import Asked
from seekwise.settings.guard import ending, job, launch
from seekwise.settings.guard_log import GuardDocument
from seekwise.workload.study.quantity import time_text

LOOK_S = 0.1
START_S = 30.0
SECONDS_MIN, SECONDS_MOST = 5, 86_400


def start(what: Asked, ways: tuple[str, ...], seconds: float, as_json: bool) -> None:
    """Sets the values in a process of its own. On a terminal waits for Enter; elsewhere returns once they are set."""
    check(seconds)
    identity = job.begun(what, ways, seconds)
    _, pid = launch.start(identity, launch.CONFIRM)
    document = _decided(identity, pid, START_S, also=guard_log.WAITING)
    if document["outcome"] == "failed":
        raise job.failure(document)
    if document["outcome"] == guard_log.WAITING and not as_json:
        _print_set(document)
        _output.to_person(
            f"undone in {time_text(seconds)} unless confirmed; from any terminal: `{invocation.line('sudo seekwise apply --keep')}`"
        )
        if sys.stdin.isatty() and sys.stderr.isatty():
            document = _ask(identity, pid)
    _end(document, as_json)


def check(seconds: float) -> None:
    """UsageError for a time too short to confirm in."""
    if not SECONDS_MIN <= seconds <= SECONDS_MOST:
        raise UsageError("--confirm takes from 5 s to 24 h", "for example `--confirm 10m`")


def keep(as_json: bool) -> None:
    """Confirms every change that waits."""
    waiting = guard_log.waiting()
    if not waiting and os.geteuid() != 0:
        raise MissingError("only root can confirm what root has set", invocation.with_sudo())
    if not waiting:
        raise UsageError(
            "nothing waits for confirmation", "`seekwise status` shows what is set, and what became of the last change"
        )
    for document in waiting:
        identity = str(document["id"])
        guard_log.confirm(identity)
        _end(_decided(identity, None, START_S), as_json)


def _decided(identity: str, pid: int | None, seconds: float, also: str = "") -> GuardDocument:
    """The document once its process has decided, or says `also`. One that died is settled: undecided means back."""
    until = time.monotonic() + seconds
    while True:
        document = job.job(identity)
        if document["outcome"] in (*job.DONE, also):
            return document
        if (
            guard_log.is_dead(document)
            or (pid is not None and not launch.is_running(identity, pid))
            or time.monotonic() > until
        ):
            job.settle(identity, "its process ended before it was confirmed")
            return job.job(identity)
        time.sleep(LOOK_S)


def _ask(identity: str, pid: int | None) -> GuardDocument:
    """Waits for Enter on the terminal. Ctrl-C undoes at once; a terminal that goes away changes nothing."""
    _output.to_person("Enter keeps it, Ctrl-C undoes it now")
    try:
        while (document := job.job(identity))["outcome"] == guard_log.WAITING:
            if pid is not None and not launch.is_running(identity, pid):
                break
            if select.select([sys.stdin], [], [], LOOK_S)[0]:
                answer = sys.stdin.readline()
                if not answer:
                    return document
                if answer.strip().lower() in ("", "y", "yes", "keep"):
                    guard_log.confirm(identity)
                    break
                _output.to_person("press Enter alone to keep it")
        return _decided(identity, pid, START_S)
    except KeyboardInterrupt:
        ending.end(identity, "Ctrl-C was pressed")
        click.echo(f"\n{_sentence(job.job(identity))}")
        raise


def _print_set(document: GuardDocument) -> None:
    for device, values in document["wanted"].items():
        for name in values:
            before, seen = (document[when].get(device, {}).get(name) for when in ("before", "seen"))
            click.echo(f"{device} {name}: {before} → {seen}, is set")


def _sentence(document: GuardDocument) -> str:
    words = {"kept": "kept: confirmed", "rolled back": f"undone: {document['headline']}"}
    return words.get(document["outcome"], f"{document['outcome']}: {document['headline']}")


def _end(document: GuardDocument, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(document, indent=2))
    elif document["outcome"] == "rolled back":
        for line in document.get("restored", ()):
            click.echo(line)
    elif document["outcome"] != guard_log.WAITING:
        click.echo(_sentence(document))
    if document["outcome"] == "rolled back":
        raise NotMetError(_sentence(document), "`seekwise status` shows what is set now")
    if document["outcome"] == "kept" and not as_json:
        _output.to_person(f"next: {invocation.line('seekwise status')}  # watches it; `seekwise revert` undoes it")
