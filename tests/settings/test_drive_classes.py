"""A choice for each class of drive, from evidence that ships, how sure it is, and the udev rules that say the same."""

from __future__ import annotations

import json
import re
import shutil
import tarfile
from dataclasses import replace

import pytest
from click.testing import CliRunner

from seekwise import _core
from seekwise.cli.main import cli
from seekwise.errors import UsageError
from seekwise.linux.setters import find_setters, survey
from seekwise.linux.stack import read_stack
from seekwise.linux.tree import FolderTree
from seekwise.settings import classes, drive_class
from settings.machine import machine_names, machine_path, two_disks
from udev_verify import verified

RULES_PATH = "/etc/udev/rules.d/65-seekwise-classes.rules"
NAMES = [each.name for each in classes.CLASSES]
SETS = dict(zip(NAMES, ("", "kyber", "bfq", "none", "mq-deadline", "kyber", "bfq"), strict=True))
"""Others than the evidence says, so that each class is told from its neighbours."""


def test_every_class_but_maps_has_figures_that_say_how_they_were_gained():
    for name in NAMES:
        known = classes.evidence(name)
        assert all(each.basis in ("measured", "testbed", "published", "simulated") for each in known)
        assert any(each.has_figures for each in known) == (name != "device-mapper")
        for each in known:
            if each.basis == "simulated":
                model, _, version = each.source.partition(", model_version ")
                assert model in _core.drive_models()
                assert _core.model_version() - 6 <= int(version) <= _core.model_version(), "tools/drive_classes.py"


@pytest.mark.parametrize("name", NAMES)
def test_the_choice_is_the_judge_s_and_follows_the_figures(name, monkeypatch):
    found = classes.choice(name)
    if name == "device-mapper":
        assert found.scheduler == classes.KEPT and "below them" in found.why
        return
    assert found.scheduler in (*classes.SCHEDULERS, classes.KEPT)
    assert (found.regret_high is None) == ("one machine" in found.why) == (name == "virtio disk")
    # Were kyber twice as fast in everything, it would be shipped.
    stored = json.loads(json.dumps(classes._stored()))
    for source in stored["sources"]:
        for key, values in source["values"].items():
            factor = 0.5 if stored["figures"][key]["unit"] == "ms" else 2
            base = next(iter(values.values()))
            values |= dict.fromkeys(classes.SCHEDULERS, base) | {"kyber": [factor * each for each in base]}
    monkeypatch.setattr(classes, "_stored", lambda: stored)
    other = classes.choice.__wrapped__(name)
    if name == "virtio disk":
        # One machine's gain stays its own until a second one agrees.
        assert other.scheduler == classes.KEPT and other.responsive == "kyber" and "ATTR{queue" not in other.rule[0]
        stored["sources"] += [each for each in stored["sources"] if each["class"] == name]
        other = classes.choice.__wrapped__(name)
    assert other.scheduler == "kyber" and 'ATTR{queue/scheduler}="kyber"' in other.rule[0]
    assert other.expected_gain == pytest.approx(1.0, abs=0.15)


def test_a_class_with_two_defaults_has_a_line_for_each_where_they_want_different_ones():
    virtio = next(each for each in classes.CLASSES if each.name == "virtio disk")
    one, many = classes._rule(virtio, ["bfq", "none"])
    assert 'TEST!="mq/1"' in one and '"bfq"' in one and 'TEST=="mq/1"' in many and '"none"' in many


def _rules() -> str:
    made = [
        replace(classes.choice(each.name), rule=classes._rule(each, [SETS[each.name]] if SETS[each.name] else []))
        for each in classes.CLASSES
    ]
    return classes.rules(made)


@pytest.mark.parametrize("name", machine_names())
def test_the_rules_set_each_drive_of_a_captured_machine_by_its_class(name, tmp_path):
    path = machine_path(name)
    if path.is_dir():
        shutil.copytree(path, tmp_path, symlinks=True, dirs_exist_ok=True)
    else:
        with tarfile.open(path) as archive:
            archive.extractall(tmp_path, filter="fully_trusted")
    root = next((each.parent for each in tmp_path.glob("**/sys") if (each / "block").exists()), tmp_path)
    file = root / RULES_PATH.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_rules())
    tree = FolderTree(root)
    stack = read_stack(tree)
    found = survey(tree, stack)
    # A scheduler that the machine lacks makes the same line one without effect.
    acting = [each for each in (*found.setters, *found.ineffective) if each.file == RULES_PATH]
    lines = file.read_text().splitlines()
    for device in stack.devices.values():
        about = classes.class_of(device)
        # Drives behind the driver of a RAID controller are left alone, volumes or not.
        if (
            name != "smartpqi-gen10"
            and device.kind != "partition"
            and about is not None
            and not device.details.get("hidden_path")
        ):
            mine = [lines[each.line - 1] for each in acting if each.device == device.name]
            assert any(each.startswith(about.match) for each in mine) == bool(SETS[about.name]), device.name


def test_a_drive_whose_parents_are_known_meets_one_line_only(tmp_path):
    files = two_disks(tmp_path).add({RULES_PATH: _rules()})
    for folder in [each for each in (tmp_path / "sys/devices").rglob("*") if each.is_dir()]:
        if not (folder / "subsystem").exists():
            (folder / "subsystem").symlink_to("/sys/bus/pci")
    found = [(each.device, each.value, each.certain) for each in find_setters(files.tree(), files.stack())]
    assert found == [("nvme0n1", SETS["NVMe SSD"], True), ("sda", SETS["hard disk"], True)]


def test_udev_itself_finds_the_rules_valid(tmp_path):
    file = tmp_path / "65-classes.rules"
    file.write_text(CliRunner().invoke(cli, ["advise", "--classes", "--print", "udev"]).stdout)
    verified(file)


def test_the_answer_fits_the_first_screen_and_ends_with_the_next_command():
    shown = CliRunner().invoke(cli, ["advise", "--classes"], catch_exceptions=False).stdout.splitlines()
    assert len(shown) <= 22 and max(map(len, shown)) <= 80
    assert (
        shown[0] == classes.FOR_WHOM
        and any(line.startswith("dm map, md array") for line in shown)
        and "advise --classes --print udev" in shown[-1]
    )
    told = json.loads(CliRunner().invoke(cli, ["advise", "--classes", "--json"]).stdout)
    assert {each["drive_class"]: each["scheduler"] for each in told["classes"]} == {
        each: classes.choice(each).scheduler for each in NAMES
    }
    assert told["udev"] == CliRunner().invoke(cli, ["advise", "--classes", "--print", "udev"]).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--classes", "--for", "desk"], "no evidence ships for `desk`"),
        (["--classes", "--device", "sda"], "--classes asks about all machines"),
        (["--print", "udev"], "belong to --classes"),
    ],
)
def test_what_does_not_go_together_is_one_error(words, said):
    with pytest.raises(UsageError, match=said):
        CliRunner().invoke(cli, ["advise", *words], catch_exceptions=False)


@pytest.mark.parametrize(("name", "kind"), [("sda", "hard disk"), ("nvme0n1", "NVMe SSD")])
def test_a_drive_gets_the_choice_of_its_class_with_how_sure_it_is_and_what_measures(tmp_path, name, kind):
    device = two_disks(tmp_path).stack().devices[name]
    known = classes.choice(kind)
    said = drive_class.sentence(device, "/srv")
    order = {
        "sda": "leave mq-deadline, which is in force",
        "nvme0n1": "set none: `sudo seekwise apply --device /srv --set scheduler=none`; mq-deadline is in force",
    }[name]
    assert said.startswith(f"{name} ({kind}): {order}. ") and known.scheduler in order
    assert f"{known.sure.capitalize()} evidence" in said and "simulated" in said
    assert said.endswith("`sudo seekwise tune /srv` measures it here.")


def test_what_lies_behind_a_hypervisor_a_bridge_or_a_controller_is_told_apart(tmp_path):
    disk = two_disks(tmp_path).stack().devices["sda"]
    assert drive_class.class_of(replace(disk, rotational=False)) == "SATA SSD"
    virtio = replace(disk, kind="virtio", transport="virtio")
    assert "measured 1" in drive_class.sentence(virtio, "/srv") and "A disk of a guest" in drive_class.sentence(
        virtio, "/srv"
    )
    usb = drive_class.sentence(replace(disk, transport="usb"), "/srv")
    assert "simulated 3" in usb and "the bridge says" in usb
    behind = replace(disk, details={**disk.details, "controller": {"driver": "megaraid_sas"}})
    assert drive_class.class_of(behind) is None and "no evidence ships" in drive_class.sentence(behind, "/srv")


def test_the_command_says_it_for_the_drives_below_a_path(tmp_path):
    root = ["--root", str(two_disks(tmp_path).root)]
    shown = CliRunner().invoke(cli, ["advise", "--device", "sda", *root], catch_exceptions=False).stdout
    assert "sda (hard disk)" in " ".join(shown.split()) and max(map(len, shown.splitlines())) <= 80
    (told,) = json.loads(CliRunner().invoke(cli, ["advise", "--device", "nvme0n1", "--json", *root]).stdout)["drives"]
    assert told["class"] == "NVMe SSD" and told["choice"]["scheduler"] == classes.choice("NVMe SSD").scheduler


def test_gain_and_price_are_of_one_use_or_the_other_use_is_named():
    for name in NAMES:
        found = classes.choice(name)
        if not found.responsive:
            continue
        first, _, worst = found.responsive_price.partition("; at worst, in another use: ")
        assert first.count("“") == 1 and "quicker" in first, first
        assert not worst or (worst.count("“") == 1 and re.search("slower|nearly stops", worst))
        title = first.partition("“")[2].partition("”")[0]
        assert title not in worst
        base = found.kernel_default[0]
        gains = [
            (float(each.gain(found.responsive, base).mean()), each)
            for each in found.judged
            if each.counts and each.group != classes.LIMITS and each.gain(found.responsive, base) is not None
        ]
        assert max(gains, key=lambda pair: pair[0])[1].title == title
        if any(each.title == title and gain < 0 for gain, each in gains):
            assert re.search("slower|nearly stops", first)
