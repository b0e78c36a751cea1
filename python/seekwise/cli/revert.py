"""`seekwise revert`: restores everything that Seekwise changed, and says what."""

from __future__ import annotations

import os
import sys
import textwrap
from dataclasses import dataclass
from typing import Any, ClassVar

import click

from seekwise import invocation
from seekwise.cli import _options, _shown
from seekwise.control import boot, recovery
from seekwise.control.journal import Journal
from seekwise.control.state import SYSTEM_STATE
from seekwise.errors import MissingError, SeekwiseError
from seekwise.settings import history
from seekwise.settings.guard import ending

REVERT = "sudo seekwise revert"


@dataclass(frozen=True)
class Reverted:
    """An entry of the journal."""

    id: str
    kind: str
    started_at: str
    pid: int
    state: str
    """restored, open (dry run), busy (its process still runs), failed …"""
    sentences: tuple[str, ...]
    items: list[dict[str, Any]]

    @classmethod
    def from_outcome(cls, outcome: recovery.Outcome) -> Reverted:
        """What became of an entry, without what only proves whose it is."""
        entry = outcome.entry
        items = [{key: value for key, value in item.items() if key != "identity"} for item in entry.items]
        return cls(entry.id, entry.kind, entry.started_at, entry.owner.pid, outcome.state, outcome.sentences, items)


@dataclass(frozen=True)
class Revert:
    """`revert --json`."""

    SCHEMA: ClassVar = "seekwise.revert/1"

    dry_run: bool
    guards: list[ending.Ended]
    entries: list[Reverted]


def _wrapped(sentence: str) -> str:
    width = min(_shown.out().width, 80)
    return textwrap.fill(sentence, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be restored; change nothing.")
@click.option("--at-boot", is_flag=True, hidden=True, help="For the unit at boot: restore what a crash left.")
@_options.as_json()
def command(dry_run: bool, at_boot: bool, as_json: bool) -> None:
    """Restore what a killed run or `seekwise apply` changed."""
    if at_boot:
        for sentence in boot.restore():
            click.echo(sentence)
        return
    journal = Journal()
    # First: one that watches would set its values after us, or restore what we have restored.
    guards = ending.end_all(dry_run=dry_run)
    outcomes = recovery.preview(journal) if dry_run else recovery.revert_all(journal)
    roots = history.in_force_by_root()
    if as_json:
        _shown.echo_json(Revert(dry_run, guards, [Reverted.from_outcome(restored) for restored in outcomes]))
    elif not outcomes and not guards:
        if not roots:
            unseen = not os.access(SYSTEM_STATE / "journal", os.R_OK) and (SYSTEM_STATE / "journal").exists()
            more = (
                f" of yours; what runs as root have left only root can see: `{invocation.line(REVERT)}`"
                if unseen
                else ""
            )
            click.echo(f"nothing to restore{more}")
    else:
        # A run that goes on has several entries.
        sentences = dict.fromkeys(sentence for outcome in outcomes for sentence in outcome.sentences)
        for sentence in [*(guard.sentence for guard in guards), *sentences]:
            # A program that reads the lines gets each whole.
            click.echo(_wrapped(sentence) if sys.stdout.isatty() else sentence)
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    if not failed and not dry_run:
        # From now on `seekwise status` expects nothing any more.
        history.reverted()
    if failed:
        raise SeekwiseError(
            f"{len(failed)} of {len(outcomes)} changes could not be restored",
            f"their old values stay in {journal.folder}",
        )
    if roots:
        values = [f"{device} {', '.join(values)}" for root in roots for device, values in root.wanted.items()]
        raise MissingError(
            f"what root has set is still in force ({'; '.join(dict.fromkeys(values))}), and only root can undo it",
            f"`{invocation.line(REVERT)}`",
        )
