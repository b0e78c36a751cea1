"""Lines that build a study's systems."""

from __future__ import annotations

import tomllib
from pathlib import Path

from click.testing import CliRunner

from seekwise.cli.main import cli
from seekwise.simulate import setup_lines
from seekwise.workload.study import starters

PROTOCOL = tomllib.loads((Path(__file__).parents[3] / "tests/seeds" / "protocol.toml").read_text())


def shown(name: str) -> list[str]:
    return setup_lines.lines(starters.open_study(name)[0])


def test_the_array_of_the_chunk_study_is_made_as_its_author_made_it():
    stated = PROTOCOL["ssd_raid10"]["create_arguments"]
    options = {word for word in stated if word.startswith("--")}
    line = next(each for each in shown("ssd-raid10-chunk") if "--chunk=32" in each)
    assert options <= set(line.split())
    assert line.split()[:3] == stated[:3]


def test_the_controllers_of_the_article_switch_ncq_per_unit():
    lines = shown("article-2008")
    assert "tw_cli /c0/u0 set qpolicy=on" in lines
    assert "tw_cli /c0/u0 set qpolicy=off" in lines
    assert "tw_cli /c0/p0 show NCQ" in lines
    assert "echo 31 > /sys/block/DEVICE1/device/queue_depth" in lines


def test_the_boot_line_of_the_article_limits_memory_and_names_a_scheduler():
    line = next(each for each in shown("article-2008") if each.startswith("# GRUB"))
    for word in ("single", "mem=256M", "elevator=noop"):
        assert word in line.split()


def test_a_job_file_has_a_global_and_a_job_section_as_stated():
    stated = PROTOCOL["ssd_raid10"]["fio_global"]
    lines = shown("ssd-raid10-chunk")
    job = lines[lines.index("[global]") :]
    for key, value in stated.items():
        assert f"{key}={value}" in job
    assert "rw=randwrite" in job
    assert "numjobs=1" in job


def test_the_preparation_is_whole_volume_file_system_trim_and_caches():
    lines = shown("ssd-raid10-chunk")
    array = lines[lines.index("# system R10_1, as root") : lines.index("# system R10_2, as root")]
    for line in (
        "pvcreate /dev/md0",
        "vgcreate test /dev/md0",
        "mkfs.ext4 /dev/test/test",
        "mount /dev/test/test /mnt/test",
    ):
        assert line in array, line
    assert array.index("pvcreate /dev/md0") > next(i for i, each in enumerate(array) if each.startswith("mdadm"))
    before = lines[lines.index("# before each measurement") :]
    assert "fstrim -v /mnt/test" in before
    article = shown("article-2008")
    before = article[article.index("# before each measurement") :]
    assert before[1:3] == ["sync; echo 3 > /proc/sys/vm/drop_caches", "sleep 5"]
    assert not any("fstrim" in line for line in article)
    assert "mkfs.ext3 /dev/md0" in article and "mkfs.ext3 /dev/DEVICE" in article


def test_tiotest_is_called_as_the_article_called_it_at_every_thread_count():
    lines = shown("article-2008")
    for threads in (1, 2, 4, 8):
        assert f"tiotest -t {threads} -f 1200 -b 4096 -r 1000 -d /mnt/test" in lines


def test_every_member_of_an_array_has_its_line_in_sysfs_conf_and_modules_are_loaded_first():
    lines = shown("article-2008")
    array = lines[lines.index("# system S5x4, as root") :]
    for member in range(1, 5):
        assert f"# sysfs.conf: block/DEVICE{member}/queue/scheduler = noop" in array
    page = shown("nvme-page")
    module = page.index("echo bfq > /etc/modules-load.d/bfq.conf && modprobe bfq")
    assert module < next(i for i, line in enumerate(page) if line.endswith("/queue/scheduler"))
    assert not any("modules-load" in line for line in lines)


def test_the_command_prints_lines_and_refuses_what_is_no_study():
    result = CliRunner().invoke(cli, ["run", "ssd-raid10-chunk", "--setup"])
    assert "mdadm --create" in result.output
    assert CliRunner().invoke(cli, ["run", "no-such", "--setup"]).exception is not None
