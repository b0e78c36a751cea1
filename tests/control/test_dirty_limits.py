"""Limits of dirty pages: one limit in two units, of which the one that was in force comes back, on a captured tree and on the real one."""

from pathlib import Path

import pytest

from cli.conftest import needs_root
from seekwise.control import attributes, recovery, settings, sysfs
from seekwise.control.journal import Journal
from seekwise.control.lines import shell_lines
from seekwise.control.switching import switching

NAMES = ("dirty_bytes", "dirty_ratio", "dirty_background_bytes", "dirty_background_ratio", "dirty_expire_centisecs")
FOLDER = Path("/proc/sys/vm")


def now() -> dict[str, str]:
    return {name: (FOLDER / name).read_text().strip() for name in NAMES}


@pytest.fixture(params=["per cent", "bytes"])
def original(request):
    """The machine's own limits, or limits in bytes as an administrator may have set them; both as before at the end."""
    before = now()
    if request.param == "bytes":
        (FOLDER / "dirty_bytes").write_text(str(3 << 30))
        (FOLDER / "dirty_background_bytes").write_text(str(1 << 30))
    yield now()
    for name in NAMES:
        if before[name] != "0":
            (FOLDER / name).write_text(before[name])
    assert now() == before


@needs_root
def test_the_unit_that_was_in_force_comes_back(original, tmp_path):
    journal = Journal(tmp_path)
    wanted = [
        {"vm": {"dirty_bytes": str(64 << 20)}},
        {"vm": {"dirty_background_bytes": str(32 << 20)}},
        {"vm": {"dirty_expire_centisecs": "500"}},
    ]
    with switching(wanted, journal=journal) as switch:
        switch.to(wanted[0])
        assert now()["dirty_bytes"] == str(64 << 20) and now()["dirty_ratio"] == "0"
        switch.to(wanted[1])
        assert now() == {**original, "dirty_background_bytes": str(32 << 20), "dirty_background_ratio": "0"}
        switch.to(wanted[2])
        assert now() == {**original, "dirty_expire_centisecs": "500"}
        switch.to(wanted[0])
        switch.to({"vm": {"dirty_bytes": original["dirty_bytes"]}})
        assert now() == original, "the setting in force under a second name, as the self-check has it"
        switch.to(wanted[0])
        switch.to_original()
        assert now() == original
        switch.to(wanted[0])
    assert now() == original
    assert journal.is_empty()


@needs_root
def test_what_a_killed_run_left_is_restored_from_its_journal(original, tmp_path):
    journal = Journal(tmp_path)
    item = settings.item_for("vm", FOLDER, Path("/"), {"dirty_bytes": "1", "dirty_background_bytes": "1"})
    entry = journal.open("changed", [item])
    settings.write_values("vm", FOLDER, {"dirty_bytes": str(64 << 20), "dirty_background_bytes": str(16 << 20)}, {})
    assert now() != original
    outcome = recovery.restore(entry, journal, own=True)
    assert outcome.state == "restored", outcome.sentences
    assert now() == original


@needs_root
def test_after_a_restart_nothing_is_written(original, tmp_path):
    journal = Journal(tmp_path)
    item = settings.item_for("vm", FOLDER, Path("/"), {"dirty_expire_centisecs": "77"})
    item["old"] = {**item["old"], "dirty_expire_centisecs": "77"}
    entry = journal.open("changed", [item])
    from dataclasses import replace

    gone = replace(entry, owner=replace(entry.owner, boot_id="another"))
    assert recovery._still_to_restore(gone, item, FOLDER, kept=False) == frozenset()
    journal.close(entry)
    assert now() == original


def test_shell_lines_undo_a_limit_in_the_unit_that_was_in_force():
    old = {"vm": {"dirty_bytes": "0", "dirty_ratio": "20", "dirty_expire_centisecs": "3000"}}
    lines = shell_lines({"vm": {"dirty_bytes": "67108864"}}, old, sudo=False)
    assert lines.set == ("echo 67108864 > /proc/sys/vm/dirty_bytes",)
    assert lines.undo == ("echo 20 > /proc/sys/vm/dirty_ratio",)


def test_devices_do_not_have_them():
    assert "dirty_bytes" in attributes.TWINS
    assert sysfs.device_folder("vm") == FOLDER
    for device in Path("/sys/block").iterdir():
        assert not any(name.startswith("dirty") for name in attributes.everything(device))
        break


def test_values_to_try_are_parts_of_what_is_in_force():
    from seekwise.measure.live import also

    values = also.values_of(("dirty-limits",))
    assert set(values) == set(also.DIRTY_NAMES)
    words = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    present = int(words["nr_dirty_threshold"]) * 4096
    assert all(also.DIRTY_LEAST_BYTES <= each <= max(present, also.DIRTY_LEAST_BYTES) for each in values["dirty_bytes"])
    assert also.areas_of("dirty_bytes,write-back") == ("write-back", "dirty_bytes")
    assert set(also.values_of(("dirty_bytes",))) == {"dirty_bytes"}


@pytest.mark.parametrize("form", ["udev", "sysfs.conf", "tuned", "ansible"])
def test_forms_of_drives_refuse_limits_of_the_machine_and_say_what_keeps_them(form):
    from seekwise.errors import UsageError
    from seekwise.linux.stack import read_stack
    from seekwise.settings import forms

    with pytest.raises(UsageError) as refused:
        forms.FORMS[form]({"vm": {"dirty_bytes": "67108864"}}, read_stack())
    assert "vm.dirty_bytes = 67108864" in str(refused.value.hint)
    script = forms.FORMS["sysfs"]({"vm": {"dirty_bytes": "67108864"}}, read_stack()).text
    assert "echo 67108864 > /proc/sys/vm/dirty_bytes" in script
