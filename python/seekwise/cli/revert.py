"""`seekwise revert`: restores everything that Seekwise changed, and says what."""

from __future__ import annotations

import json

import click

from seekwise.control import recovery
from seekwise.control.journal import Journal
from seekwise.errors import SeekwiseError
from seekwise.settings import history
from seekwise.settings.guard import ending

SCHEMA = "seekwise.revert/1"


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be restored; change nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def command(dry_run: bool, as_json: bool) -> None:
    """Restore what a killed run or `seekwise apply` changed."""
    journal = Journal()
    # First: one that watches would set its values after us, or restore what we have restored.
    guards = ending.end_all(dry_run=dry_run)
    outcomes = recovery.preview(journal) if dry_run else recovery.revert_all(journal)
    if as_json:
        click.echo(
            json.dumps(
                {
                    "schema": SCHEMA,
                    "dry_run": dry_run,
                    "guards": [{"id": each.id, "devices": each.devices, "sentence": each.sentence} for each in guards],
                    "entries": [_document(outcome) for outcome in outcomes],
                },
                indent=2,
            )
        )
    elif not outcomes and not guards:
        click.echo("nothing to restore")
    else:
        for guard in guards:
            click.echo(guard.sentence)
        for outcome in outcomes:
            for sentence in outcome.sentences:
                click.echo(sentence)
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    if not failed and not dry_run:
        # From now on `seekwise status` expects nothing any more.
        history.reverted()
    if failed:
        raise SeekwiseError(
            f"{len(failed)} of {len(outcomes)} changes could not be restored",
            f"their old values stay in {journal.folder}",
        )


def _document(outcome: recovery.Outcome) -> dict[str, object]:
    return {
        "id": outcome.entry.id,
        "kind": outcome.entry.kind,
        "started_at": outcome.entry.started_at,
        "pid": outcome.entry.owner.pid,
        "state": outcome.state,
        "sentences": list(outcome.sentences),
        "items": [{key: value for key, value in item.items() if key != "identity"} for item in outcome.entry.items],
    }
