"""These tests will read the outputs of controllers' tools, print the exact command, and run it only when told to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests import preloaded

from seekwise.errors import MissingError, SeekwiseError
from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.linux.scsi import ncq
from seekwise.linux.stack import read_stack
from seekwise.settings import controllers
from seekwise.settings.controllers import LogicalUnit
from settings.machine import machine_path

OUTPUTS = Path(__file__).parent / "controllers"


H240_FIRST = "naa.600508b1001c90db4a1fdcbccb744f14"


def unit(
    driver: str, *, device="sdb", index: int = 0, channel: int = 0, target: int = 0, lun: int = 0, wwid: str = ""
) -> LogicalUnit:
    return LogicalUnit(device, driver, index, channel, target, lun, wwid)


CASES = [
    ("tw_cli-9650se", unit("3w-9xxx", target=1), ("on", "off", None, "OK")),
    ("storcli-9361", unit("megaraid_sas", channel=2, target=1), ("on", "on", "RAID5", "Optl")),
    ("arcconf-8805", unit("aacraid"), ("on", "off", "RAID10", "Optimal")),
    ("arcconf-8805", unit("aacraid", target=1), ("on", "on", "RAID1", "Degraded")),
    ("ssacli-p440", unit("hpsa", device="sda"), ("on", "on", "RAID 1", "OK")),
    ("ssacli-p440", unit("smartpqi", lun=1), ("on", "off", "RAID 5", "OK")),
    ("ssacli-h240", unit("hpsa", device="sda", wwid=H240_FIRST), ("on", "off", "RAID 0", "OK")),
    ("ssacli-two", unit("smartpqi", device="sdz", wwid="naa.600508b1001ccd7b72db95e459cdeeee"), ("on", "on", "RAID 6", "OK")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "which", "expected"), CASES)
def test_state_of_a_unit_as_its_tool_prints_it(name, which, expected):
    text = (OUTPUTS / name).read_text()
    state = controllers.tool_for(which).parse(text, which)
    assert (state.ncq, state.write_cache, state.level, state.status) == expected
    assert all(line in " ".join(text.split()) for line in (" ".join(each.split()) for each in state.evidence.values()))


@pytest.mark.parametrize(("name", "which", "expected"), CASES)
def test_an_output_that_says_nothing_leaves_everything_open(name, which, expected):
    for text in ("", "Error: no controller found.\n", "\0\n" * 20):
        state = controllers.tool_for(which).parse(text, which)
        assert (state.ncq, state.write_cache, state.level, state.status) == (None, None, None, None)


@pytest.mark.parametrize(
    ("which", "name", "on", "command"),
    [
        (unit("3w-9xxx", target=1), "ncq", False, "tw_cli /c0/u1 set qpolicy=off"),
        (unit("3w-sas", index=1), "write_cache", True, "tw_cli /c1/u0 set cache=on quiet"),
        (unit("megaraid_sas", channel=2, target=3), "ncq", True, "storcli64 /c0 set ncq=on"),
        (unit("megaraid_sas", channel=3, target=1), "write_cache", False, "storcli64 /c0/v129 set wrcache=wt"),
        (unit("aacraid"), "ncq", False, "arcconf setncq 1 disable"),
        (unit("aacraid", target=2), "write_cache", True, "arcconf setcache 1 logicaldrive 2 wb"),
    ],
)
def test_the_exact_command(which, name, on, command):
    change = controllers.change(which, name, on)
    assert (" ".join(change.command), change.unknown) == (command, None)


@pytest.mark.parametrize(
    ("output", "which", "command"),
    [
        # The only controller of the machine is in slot 1.
        ("ssacli-h240", unit("hpsa", device="sda", wwid=H240_FIRST), "ssacli ctrl slot=1 ld 1 modify aa=disable"),
        ("ssacli-h240", unit("hpsa", device="sdb"), "ssacli ctrl slot=1 ld 2 modify aa=disable"),
        # Two controllers; the drive's name has moved since the tool looked, its identifier has not.
        ("ssacli-two", unit("smartpqi", device="sdb", wwid="naa.600508b1001ccd7b72db95e459cdeeee"), "ssacli ctrl slot=3 ld 4 modify aa=disable"),
        ("ssacli-two", unit("smartpqi", index=1, device="sdb"), "ssacli ctrl slot=0 ld 1 modify aa=disable"),
    ],
)  # fmt: skip
def test_a_smart_array_is_named_by_the_slot_that_its_own_tool_shows(tmp_path, monkeypatch, output, which, command):
    program = tmp_path / "ssacli"
    program.write_text(f"#!/bin/sh\ncat {OUTPUTS / output}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    change = controllers.change(which, "write_cache", False)
    assert (" ".join(change.command), change.unknown) == (command, None)


@pytest.mark.parametrize("which", [unit("hpsa", wwid="naa.600508b1001c0000"), unit("smartpqi", device="sdx")])
def test_without_the_tool_a_slot_is_never_guessed(monkeypatch, which):
    monkeypatch.setenv("PATH", "/nonexistent")
    change = controllers.change(which, "write_cache", True)
    assert "slot=SLOT" in change.command
    assert ("600508B1001C0000" if which.wwid else "/dev/sdx") in change.unknown


def test_a_unit_that_the_tool_does_not_show_has_no_state_and_no_slot():
    text = (OUTPUTS / "ssacli-two").read_text()
    stranger = unit("smartpqi", device="sdq", wwid="naa.600508b1001cffffffffffffffffffff")
    assert controllers.tool_for(stranger).parse(text, stranger) == controllers.State()


def test_what_a_tool_cannot_do_is_said():
    with pytest.raises(SeekwiseError, match="ssacli cannot switch ncq"):
        controllers.change(unit("hpsa"), "ncq", True)
    with pytest.raises(MissingError, match="no tool for the driver arcmsr"):
        controllers.change(unit("arcmsr"), "ncq", True)


def test_controllers_count_per_driver_in_the_order_of_their_hosts():
    def device(name, driver, address):
        return BlockDevice(name, "disk", 1, "8:0", details={"controller": {"driver": driver}, "scsi_address": address})

    devices = [
        device("sda", "3w-9xxx", "4:0:0:0"),
        device("sdb", "3w-9xxx", "2:0:1:0"),
        device("sdc", "hpsa", "3:0:0:1"),
    ]
    found = controllers.units(Stack({each.name: each for each in devices}, ()))
    assert [(each.index, each.target) for each in found.values()] == [(1, 0), (0, 1), (0, 0)]


@pytest.fixture
def fake_tool(tmp_path):
    """A `tw_cli` that keeps its policy in a file and logs how it is called."""
    program = tmp_path / "bin/tw_cli"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/log\n'
        f'case "$*" in *"show qpolicy") echo "$1 Command Queuing Policy = $(cat {tmp_path}/policy)";; '
        f'*qpolicy=*) echo "${{3#qpolicy=}}" > {tmp_path}/policy;; *broken*) exit 1;; esac\n'
    )
    program.chmod(0o755)
    (tmp_path / "policy").write_text("on\n")
    return tmp_path


def test_a_tool_is_asked(fake_tool, monkeypatch):
    monkeypatch.setenv("PATH", f"{fake_tool}/bin:{os.environ['PATH']}")
    which = unit("3w-9xxx", target=1)
    assert controllers.read(which).ncq == "on"
    assert (fake_tool / "log").read_text().splitlines() == [
        "/c0/u1 show qpolicy",
        "/c0/u1 show cache",
        "/c0/u1 show status",
    ]
    assert controllers.change(which, "ncq", False).command[1:] == ("/c0/u1", "set", "qpolicy=off")


def test_the_command_for_a_captured_unit_is_printed_and_run_by_nobody(tmp_path):
    words = ("apply", "--print", "tw_cli", "--for-capture", str(machine_path("3ware-9650se")), "--device", "sdb", "--set", "ncq=off")  # fmt: skip
    done = preloaded.run(words, {**os.environ, "SEEKWISE_STATE": str(tmp_path)})
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "tw_cli /c0/u1 set qpolicy=off"


# NCQ of drives


@pytest.mark.parametrize(
    ("arguments", "state", "shown"),
    [
        ((31, True, 32, "ahci"), "on", "31/32"),
        ((32, True, 32, "ahci"), "on", "32/32"),
        ((1, True, 32, "ahci"), "off", "0/32"),
        ((1, True, 32, "ata_piix"), "off", "0/32"),
        ((1, False, None, "ahci"), "unsupported", "none"),
        ((1, None, None, "pata_amd"), "off", "0"),
    ],
)
def test_ncq_in_the_kernel_s_own_form(arguments, state, shown):
    found = ncq(*arguments)
    assert (found["state"], found["used_of_offered"]) == (state, shown)
    assert ("cause" in found) is (arguments[3] in ("ata_piix", "pata_amd"))


def test_the_captured_drives_say_how_many_of_how_many():
    assert read_stack(machine_path("sata-ncq")).devices["sda"].details["ncq"]["used_of_offered"] == "32/32"
    assert read_stack(machine_path("sata-ncq-off")).devices["sdb"].details["ncq"]["used_of_offered"] == "0/32"
