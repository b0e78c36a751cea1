"""What `options` of a simulated system may be: each value of its kind, and nothing that would be ignored."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from seekwise import drive_names
from seekwise.cli.main import cli
from seekwise.errors import UsageError
from seekwise.measure.live import simulated
from seekwise.measure.live.candidates import parse_vary
from seekwise.simulate import setup_lines
from seekwise.simulate.design import space
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.simulate.use_trials import model_of
from seekwise.workload.study.parse import loads

STUDY = """
name = "asked"
backend = "simulated"
[[system]]
name = "s"
drive = "{drive}"
{more}
[settings]
{settings}
[[workload]]
operations = ["rand_write"]
block_bytes = "8k"
runtime = "200ms"
"""
NONE = 'scheduler = ["none"]'


def described(more: str, drive: str = "samsung_pm9a3", settings: str = NONE):
    text = STUDY.format(drive=drive, more=more, settings=settings)
    return SimulatedBackend().describe(loads(text, "asked.toml"))


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ('cgroup = "yes"', "system s: `cgroup` is 'yes'; it is true or false"),
        ("synchronous_dispatch = 1", "system s: `synchronous_dispatch` is 1; it is true or false"),
        ('whole_drive = "no"', "system s: `whole_drive` is 'no'; it is true or false"),
        ('cores = "four"', "system s: `cores` is 'four'; it is a whole number"),
        ("cores = 2.5", "system s: `cores` is 2.5; it is a whole number"),
        ('partition_gib = "x"', "system s: `partition_gib` is 'x'; it is a whole number"),
        ("partition_gib = 100000", "system s: `partition_gib` lies between 1 and 3576, what the drive has"),
        ("partition_gib = 0", "system s: `partition_gib` lies between 1 and 3576, what the drive has"),
        ('ncq = "maybe"', "system s: `ncq` is 'maybe'; it is on or off"),
        ("drives_beside = 2", "system s: `drives_beside` needs `cores`"),
        ("missing = 1", "system s: `missing` is about an array, and it is one drive"),
        ('sync_action = "check"', "system s: `sync_action` is about an array, and it is one drive"),
        ("rmw_level = 2", "system s: `rmw_level` is about an array, and it is one drive"),
    ],
)
def test_an_option_of_another_kind_or_without_effect_is_refused(option, said):
    with pytest.raises(UsageError) as error:
        described(f"options = {{ {option} }}")
    assert error.value.message == said


@pytest.mark.parametrize(("drive", "most"), [("samsung_pm9a3/m2", 1788), ("exos_x18/virtio", 16764), ("null", 250)])
def test_a_partition_fits_the_drive_that_is_named_with_its_edition(drive, most):
    assert described(f"options = {{ partition_gib = {most} }}", drive)
    with pytest.raises(UsageError, match=f"lies between 1 and {most}"):
        described(f"options = {{ partition_gib = {most + 1} }}", drive)


def test_parity_is_asked_of_levels_that_have_it():
    array = 'drives = 6\nraid_level = "{}"\noptions = {{ rmw_level = 2 }}'
    assert described(array.format("raid6"))
    assert described(array.format("raid10"), settings='raid_level = ["raid5", "raid10"]')
    with pytest.raises(UsageError, match="`rmw_level` is about RAID 5 and 6"):
        described(array.format("raid10"))


def test_rmw_level_may_be_varied():
    assert described('drives = 6\nraid_level = "raid6"', settings="rmw_level = [0, 1, 2]")
    with pytest.raises(UsageError, match="rmw_level"):
        described('drives = 6\nraid_level = "raid6"', settings="rmw_level = [3]")


def test_no_depth_is_varied_of_drives_without_one():
    """What was advised could not be set: NVMe has no `device/queue_depth`. A guest's disk may be a SCSI one."""
    depths = "queue_depth = [1, 31]"
    assert described("", "exos_x18", depths) and described("", "samsung_pm9a3/virtio", depths)
    with pytest.raises(UsageError, match="samsung_pm9a3 is an NVMe drive, which has no `queue_depth`"):
        described("", settings=depths)
    with pytest.raises(UsageError, match="which has no `queue_depth`"):
        simulated.candidates(model_of("samsung_pm9a3/preconditioned", "6.1"), {"queue_depth": [1, 31]})


def test_nothing_rebuilds_raid_0():
    array = 'drives = 4\nraid_level = "{}"\noptions = {{ sync_action = "recover" }}'
    assert described(array.format("raid0"), settings='raid_level = ["raid0", "raid5"]\nsync_speed_max = [20000]')
    with pytest.raises(UsageError, match="RAID 0 has no copies, so nothing rebuilds or checks it"):
        described(array.format("raid0"))


def test_an_edition_that_a_drive_lacks_names_those_that_have_it():
    with pytest.raises(UsageError) as error:
        drive_names.find("samsung_980/preconditioned")
    assert error.value.message == "the drive model `samsung_980` has no edition `preconditioned`; it has none"
    assert error.value.hint.startswith("`/preconditioned` exists of intel_p3700, ")
    with pytest.raises(UsageError, match="write `samsung_pm9a3/preconditioned/virtio`"):
        drive_names.find("samsung_pm9a3/virtio/preconditioned")


def test_an_array_of_guests_disks_is_refused_for_what_it_is():
    with pytest.raises(UsageError, match="md over disks of a guest is not simulated"):
        space.arrays_of(model_of("exos_x18/virtio", "6.1"), space.LEVELS, (4, 6), 1)


def test_run_knows_what_storage_is_built_of():
    with pytest.raises(UsageError) as error:
        parse_vary(["drive=3"], builds=True)
    assert error.value.hint == "did you mean `drives`?"


def test_commands_and_the_plan_say_what_was_simulated(tmp_path, monkeypatch):
    """The bitmap's chunk, `rmw_level` and half of the array stood in no command; the plan said 64 MiB per thread."""
    array = 'drives = 6\nraid_level = "raid6"\noptions = { bitmap = "internal-1g", rmw_level = 2 }'
    text = STUDY.format(drive="exos_x18", more=array, settings=NONE).replace("runtime", "reach = 0.5\nruntime")
    study = loads(text, "asked.toml")
    commands = "\n".join(setup_lines.create(study.system[0], None).split(" --"))
    assert "bitmap=internal\nbitmap-chunk=1G" in commands
    assert "size=50%" in setup_lines.fio_job(study.workload[0])
    monkeypatch.chdir(tmp_path)
    path = Path("asked.toml")
    path.write_text(text)
    said = CliRunner().invoke(cli, ["run", str(path), "--setup"]).output
    assert "echo 2 > /sys/block/md0/md/rmw_level" in said
    said = CliRunner().invoke(cli, ["run", str(path), "--dry-run"]).output
    assert "over 50 % of the smallest array or drive" in said and "per thread" not in said
    assert "order: 5 repetitions" in said


def test_files_are_in_a_control_group_too():
    """The note of each comparison with bfq advises the option, which was refused with a file system."""
    assert described('options = { filesystem = "ext4", cgroup = true }', "exos_x18")
    with pytest.raises(UsageError, match="system s takes no option `cores`"):
        described('options = { filesystem = "ext4", cores = 2 }')
