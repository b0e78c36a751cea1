"""One sentence for each class of drive, from evidence that ships, and how sure it is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from seekwise import _core
from seekwise.cli import advise as command
from seekwise.cli.main import cli
from seekwise.settings import drive_class
from settings.machine import two_disks


def test_every_class_has_evidence_that_says_with_which_model_it_was_made():
    found = drive_class.evidence()
    assert set(found) == {"hard disk", "SATA SSD", "NVMe SSD"}
    for each in found.values():
        assert 13 <= each.model_version <= _core.model_version(), "`python tools/drive_classes.py`"
        assert each.setting in each.headline
        assert each.model in _core.drive_models()


@pytest.mark.parametrize(("name", "kind"), [("sda", "hard disk"), ("nvme0n1", "NVMe SSD")])
def test_a_drive_gets_the_sentence_of_its_class_with_how_sure_it_is_and_what_measures(tmp_path, name, kind):
    device = two_disks(tmp_path).stack().devices[name]
    known = drive_class.evidence()[kind]
    said = drive_class.sentence(device, "/srv")
    assert said.count(".") >= 1 and f"{name} ({kind})" in said
    assert "mq-deadline is in force" in said and "simulated for one model" in said and known.model in said
    assert f"model_version {known.model_version}" in said
    assert said.endswith("`sudo seekwise tune /srv` measures it here.")
    assert all(setting in said for setting in known.purposes.values())


def test_flash_and_what_lies_behind_a_hypervisor_or_a_controller_are_told_apart(tmp_path):
    disk = two_disks(tmp_path).stack().devices["sda"]
    assert drive_class.class_of(replace(disk, rotational=False)) == "SATA SSD"
    for other in (
        replace(disk, kind="virtio", transport="virtio"),
        replace(disk, details={**disk.details, "controller": {"vendor": "x"}}),
        replace(disk, transport="usb"),
    ):
        assert drive_class.class_of(other) is None
        assert "no evidence ships" in drive_class.sentence(other, "/srv")


def test_the_command_says_it_for_the_drives_below_a_path(tmp_path, monkeypatch):
    stack = two_disks(tmp_path).stack()
    monkeypatch.setattr(command, "read_stack", lambda: stack)
    shown = CliRunner().invoke(cli, ["advise", "--device", "sda"], catch_exceptions=False).stdout
    assert "sda (hard disk)" in " ".join(shown.split()) and max(map(len, shown.splitlines())) <= 80
    (told,) = json.loads(CliRunner().invoke(cli, ["advise", "--device", "nvme0n1", "--json"]).stdout)["drives"]
    assert told["class"] == "NVMe SSD" and told["provenance"] == "simulated"
