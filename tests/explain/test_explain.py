"""Explanations: every word leads somewhere, and numbers come from where they are in force."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from seekwise import _core
from seekwise.cli import run as run_module
from seekwise.cli import tune as tune_module
from seekwise.cli.explain import command
from seekwise.errors import UsageError
from seekwise.judge import workloads
from seekwise.report.explain import explain, program, words
from seekwise.workload.study import factors, profiles, starters


def test_every_word_is_explained_and_every_reference_leads_somewhere():
    for word in words():
        explanation = explain(word)
        assert explanation.title and (explanation.text or explanation.tunables or explanation.parameters), word
        for other in explanation.see:
            assert explain(other).title, f"{word} leads to {other}"


def test_every_word_of_help_is_explained():
    """Commands, settings, uses, profiles and studies."""
    asked = [*program.commands(), *factors.FACTORS, *workloads.shipped(), *profiles.names()]
    asked += starters.names()
    unknown = []
    for word in asked:
        try:
            assert explain(word).text
        except UsageError:
            unknown.append(word)
    assert not unknown


def test_the_parts_of_an_access_add_up_and_a_small_area_is_faster_than_the_data_sheet():
    table = [line.split() for line in explain("access time").text.splitlines() if line.startswith(("wd2500ys", "st3"))]
    assert len(table) == 3
    for name, *numbers in table:
        processing, seek, settling, rotation, together, small = map(float, numbers)
        assert processing + seek + settling + rotation == pytest.approx(together, abs=0.03), name
        assert rotation == pytest.approx(4.17, abs=0.01)
        assert small < 8.5 < together, name


def test_every_scheduler_is_explained_with_its_tunables():
    for scheduler in json.loads(_core.schedulers("6.1"))["schedulers"]:
        explanation = explain(scheduler["name"])
        assert explanation.text.strip(), scheduler["name"]
        names = {row.name for row in explanation.tunables}
        if scheduler["available"]:
            assert names == {tunable["name"] for tunable in scheduler["tunables"] if tunable["available"]}


def test_a_model_is_shown_with_source_and_confidence_of_each_number():
    rows = {row.name: row for row in explain("wd2500ys").parameters}
    assert rows["spt_outer"].value == 1116
    assert rows["spt_outer"].confidence == "review"
    assert "Wong" in rows["spt_outer"].source
    assert all(row.source and row.confidence for row in rows.values())


@pytest.mark.parametrize(
    ("word", "title"),
    [
        ("queue depth", "queue_depth"),
        ("I/O priority", "I/O priority"),
        ("tagged command queueing", "TCQ"),
        ("ST-225", "Seagate ST-225"),
        ("what the drive and kernel".replace("what the ", ""), "What a drive"),
        ("writes_starved", "writes_starved"),
    ],
)
def test_other_names_lead_to_the_same_text(word: str, title: str):
    assert explain(word).title.startswith(title)


@pytest.mark.parametrize(
    ("word", "meant"), [("kyberr", "kyber"), ("exos_x81", "exos_x18"), ("queue_dept", "queue_depth")]
)
def test_an_unknown_word_gets_a_suggestion(word: str, meant: str):
    with pytest.raises(UsageError) as raised:
        explain(word)
    assert f"did you mean `{meant}`" in (raised.value.hint or "")


def test_the_command_prints_one_json_document():
    result = CliRunner().invoke(command, ["ncq", "--json"])
    document = json.loads(result.output)
    assert document["schema"] == "seekwise.explain/1"
    assert "tcq" in document["see"]


def test_exit_finds_the_statuses_and_no_page_names_an_option_that_is_not_there():
    assert explain("exit").word == explain("exit-status").word
    commands = {"run": run_module.command, "tune": tune_module.command}
    known = {name: {word for param in each.params for word in param.opts} for name, each in commands.items()}
    for word in ("trim", "study", "exit-status"):
        for name, option in re.findall(r"`seekwise (\w+) [^`]*?(--[a-z-]+)", explain(word).text):
            assert name not in known or option in known[name], (word, name, option)


WORDS = (
    "virtio vm iothread io.max io.latency io.cost iocost cgroup no_read_workqueue dm-crypt luks bcache dm-cache smr cmr zoned zns multipath "
    "rotational rpm uas usb usb-storage fdatasync barrier plp wal iostat %util await aqu-sz svctm vmstat psi biosnoop poll_queues irq iscsi nvme-of "
    "nfs ceph lun sas scsi FPDMA zfs ashift recordsize swap zram noatime speed_limit_max sync_speed_min group_thread_cnt tlc m.2 alignment 4kn 512e "
    "bs smart reallocated temperature vm.dirty_ratio blockdev hdparm docker nice mb/s mbps stall timeout adios"
)
TYPED = WORDS.split()


@pytest.mark.parametrize("word", TYPED)
def test_a_word_that_administrators_type_has_an_entry(word):
    """Typed by people who came with outputs and threads that hold these words."""
    assert explain(word).text
