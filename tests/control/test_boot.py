"""The unit at boot restores what a crash left, while the root file system may still be read-only."""

from __future__ import annotations

from pathlib import Path

from control.test_recovery import rewrite
from seekwise.control import boot
from seekwise.control.settings import Journal, write_journalled

UNITS = Path(__file__).parents[2] / "packaging" / "systemd"


def test_the_unit_restores_with_a_journal_that_cannot_be_written(kernel, tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path / "state"))
    journal = Journal()
    folder = kernel.add_disk("sda", "mq-deadline")
    write_journalled("changed", {"sda": {"queue/scheduler": "bfq"}}, kernel.root, journal, lambda entry: None)
    rewrite(journal, start_ticks=1)  # the process is gone
    monkeypatch.setattr(boot, "_read_only", lambda folder: True)
    said = boot.restore(tmp_path / "run")
    assert "[mq-deadline]" in (folder / "queue/scheduler").read_text() and "sda restored" in said[0]
    assert not (tmp_path / "run").exists()
    assert not journal.is_empty(), "closed by the next seekwise that can write"
    assert boot.restore(tmp_path / "run") == ["sda had its previous settings already"]


def test_the_unit_does_not_come_before_what_udevd_waits_for():
    """udevd comes after systemd-sysusers, which comes after systemd-remount-fs: before that one and after udevd is a cycle."""
    text = (UNITS / "seekwise-restore.service").read_text()
    assert [line for line in text.splitlines() if line.startswith("Before=")] == [
        "Before=local-fs-pre.target shutdown.target"
    ]
    assert "ExecStart=/usr/bin/seekwise revert --at-boot" in text
