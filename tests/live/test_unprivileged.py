"""`tune` without root: says at once what it cannot do, what is known anyway, and the line to run."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from seekwise import invocation
from seekwise.cli import _tune_unprivileged, tune
from seekwise.errors import Exit, MissingError, SeekwiseError
from seekwise.measure.kernel import target


class Device:
    kind, rotational, scheduler = "disk", True, "none"
    schedulers_offered = ("none", "bfq")


class Target:
    path = "/srv"
    leaves = (Device(),)
    lines = ("/srv on sda",)


class Request:
    target, uses, vary, budget = "/srv", None, ("queue_depth=1,31",), 120.0


def test_it_ends_with_the_line_that_was_typed_and_names_what_root_would_compare(capsys, monkeypatch):
    typed = ["tune", "/srv", "--vary", "queue_depth=1,31"]
    program = Path(sys.executable).parent / "seekwise"
    monkeypatch.setattr("sys.argv", [str(program), *typed])
    monkeypatch.setattr(invocation, "IS_ROOT", False)
    with pytest.raises(MissingError) as error:
        _tune_unprivileged.answer(Request(), Target())
    assert error.value.exit_status == Exit.MISSING
    assert error.value.hint == f"run it with sudo: `sudo {program} {' '.join(typed)}`"
    said = capsys.readouterr()
    assert "queue_depth=1,31" in said.out and "generic_1tb_sata" in said.out


class VirtioDisk(Device):
    kind, name = "virtio", "vda"


def test_a_virtio_disk_is_simulated_by_a_guests_disk_that_is_named_as_standing_in_for_it(capsys, monkeypatch):
    monkeypatch.setattr(Target, "leaves", (VirtioDisk(),))
    with pytest.raises(MissingError):
        _tune_unprivileged.answer(Request(), Target())
    assert "a guest's disk over a server's NVMe SSD in place of vda" in capsys.readouterr().out


def test_a_folder_that_only_root_may_write_gets_the_same_answer(monkeypatch):
    """`seekwise tune /srv`, as the page on work without root has it: nothing is written, so nothing has to be writable."""
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr("os.access", lambda *_, **__: False)
    done = CliRunner().invoke(tune.command, ["/"])
    if "no disk to tune" in str(done.exception):
        pytest.skip(f"this machine's root is on no disk: {done.exception}")
    assert isinstance(done.exception, MissingError) and done.exception.message.startswith("nothing was measured"), done


def test_a_folder_that_is_to_be_written_and_cannot_be_lacks_a_privilege(monkeypatch):
    monkeypatch.setattr("os.access", lambda *_, **__: False)
    with pytest.raises(SeekwiseError) as error:
        target.find("/")
    if "no disk to tune" in error.value.message:
        pytest.skip(f"this machine's root is on no disk: {error.value.message}")
    assert error.value.exit_status == Exit.MISSING
