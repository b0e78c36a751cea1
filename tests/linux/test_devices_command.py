"""`seekwise devices` and `seekwise capture` as commands: text for people, JSON by schema, exit statuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile

import pytest
from click.testing import CliRunner
from tests import preloaded

from seekwise.cli.devices import command

from .conftest import machine_names, machine_path


def seekwise(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return preloaded.run([str(each) for each in arguments], {**os.environ, "COLUMNS": "80", **environment})


def devices(*arguments: object) -> str:
    """Standard output of the command, run in this process."""
    done = CliRunner().invoke(command, list(map(str, arguments)), env={"COLUMNS": "80"}, catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


@pytest.mark.parametrize("name", machine_names())
def test_text_fits_80_columns_and_shows_every_drive(name):
    shown = devices("--root", machine_path(name))
    assert max(map(len, shown.splitlines())) <= 80
    assert "\x1b" not in shown
    assert "  \n" not in shown, "no padding at line ends"
    document = json.loads(devices("--json", "--root", machine_path(name)))
    for device in document["devices"]:
        if device["size_bytes"] and device["serial"]:
            assert device["serial"] in shown.replace("\n", "")


def test_a_path_shows_its_stack_and_where_settings_go():
    shown = devices("--root", machine_path("md-raid5"), "/srv")
    assert "RAID 5, chunk 64 KiB, 4 members" in shown
    assert "sda " not in shown, "the boot disk is not below /srv"
    assert "stripe_cache_size" in shown
    document = json.loads(devices("--json", "--root", machine_path("md-raid5"), "/srv"))
    assert document["schema"] == "seekwise.devices/1"
    assert document["resolved"]["leaves"] == ["sdb", "sdc", "sdd", "sde"]
    assert document["resolved"]["settings"]["scheduler"] == ["sdb", "sdc", "sdd", "sde"]
    assert document["resolved"]["settings"]["stripe_cache_size"] == ["md0"]
    assert [device["name"] for device in document["devices"]] == ["md0", "md0p1", "sdb", "sdc", "sdd", "sde"]


def test_a_drive_below_two_loops_is_shown_once():
    shown = devices("--root", machine_path("loop-file"), "/mnt/inner")
    assert shown.count("serial S3YJNX0QEM0") == 1


def test_ascii_terminals_get_ascii():
    shown = seekwise(
        "devices", "--root", machine_path("md-raid1"), PYTHONIOENCODING="ascii", PYTHONUTF8="0", LC_ALL="C"
    )
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.isascii()
    assert "RAID 1" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["/no/such/path"], 2, "does not exist"),
        (["--root", "/no/such/tree"], 2, "does not exist"),
        (["--root", machine_path("btrfs-two"), "/scratch"], 3, "tmpfs"),
        (["--root", machine_path("btrfs-two"), "/dev/sdz"], 2, "no device"),
    ],
)
def test_bad_input_is_one_error_with_a_hint_and_its_exit_status(arguments, status, words):
    ended = seekwise("devices", *arguments)
    assert ended.returncode == status
    assert ended.stdout == ""
    assert ended.stderr.startswith("error: ")
    assert words in ended.stderr
    assert "\nhint: " in ended.stderr
    assert "Traceback" not in ended.stderr


def test_this_machine_can_be_shown_captured_and_shown_again(tmp_path):
    archive = tmp_path / "here.tar.gz"
    assert seekwise("capture", archive).returncode == 0
    here = json.loads(devices("--json"))
    there = json.loads(devices("--json", "--root", archive))
    assert [device["name"] for device in here["devices"]] == [device["name"] for device in there["devices"]]


@pytest.mark.parametrize("command", ["devices", "status", "doctor"])
@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_a_tree_in_which_nothing_can_be_seen_ends_no_command_well(tmp_path, command, options):
    (tmp_path / "sys").mkdir()
    ended = seekwise(command, "--root", tmp_path, *options)
    assert ended.returncode == 2
    assert "queue/" in ended.stdout + ended.stderr or "holds nowhere a block device" in ended.stderr


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["text", "json"])
def test_a_reader_that_goes_away_ends_the_command_quietly(options):
    command = [sys.executable, "-m", "seekwise.cli.main", "devices", *options, "--root", str(machine_path("md-raid5"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        running.stdout.close()
        complaint = running.stderr.read()
    assert (running.returncode, complaint) == (0, "")


def test_the_long_path_of_an_image_breaks_no_line(tmp_path):
    with tarfile.open(machine_path("loop-file")) as archive:
        archive.extractall(tmp_path, filter="fully_trusted")
    file = tmp_path / "sys/devices/virtual/block/loop1/loop/backing_file"
    file.chmod(0o644)
    file.write_text(
        f"/var/lib/docker/volumes/{'0123456789abcdef' * 4}/_data/virtual machine/a-disk-image-2026-11-29.raw\n"
    )
    lines = [line for line in devices("--root", tmp_path).splitlines() if "loop1" in line]
    assert len(lines) == 2 and all(line.endswith(("a-disk-image-2026-11-29.raw", ", 21.5 GB")) for line in lines)
