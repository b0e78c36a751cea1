"""What the laboratory is made of, without booting anything."""

from __future__ import annotations

import io
import lzma
import os
import shutil
import subprocess
import sys
import tarfile

import pytest
from click.testing import CliRunner

from seekwise.cli.main import cli
from seekwise.errors import MissingError, SeekwiseError, UsageError
from seekwise.simulate.protocol import Options
from seekwise.workload.study import parse
from seekwise_proof.testbed import cpio, debian, kernels, machine, modules, processor, script
from seekwise_proof.testbed.backend import LabBackend
from seekwise_proof.testbed.cpio import CpioEntry

STUDY = """
name = "small"
[[system]]
name = "disk"
drive = "wd2500ys"
{more}
[[candidate]]
scheduler = "bfq"
iosched.low_latency = 0
[[workload]]
operations = ["rand_read"]
size = "1g"
runtime = "1s"
"""


def test_an_archive_is_the_same_bytes_whatever_the_order_and_cpio_reads_it(tmp_path):
    entries = {"b/c": CpioEntry.file(b"text", executable=True), "a": CpioEntry.link("b/c"), "d": CpioEntry.folder()}
    packed = cpio.pack(entries)
    assert packed == cpio.pack(dict(reversed(entries.items())))
    if shutil.which("cpio"):
        subprocess.run(["cpio", "-idm", "--quiet"], cwd=tmp_path, input=packed, check=True)
        assert (tmp_path / "a").read_text() == "text"
        assert (tmp_path / "b/c").stat().st_mode & 0o111
        assert (tmp_path / "b/c").stat().st_mtime == 0


def deb(content: dict[str, bytes]) -> bytes:
    """A package as deb(5) describes it."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:xz") as archive:
        for name, text in content.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    out = b"!<arch>\n"
    for name, text in (("debian-binary", b"2.0\n"), ("control.tar.xz", b"odd"), ("data.tar.xz", data.getvalue())):
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{100644:<8}{len(text):<10}`\n".encode() + text + b"\n" * (len(text) % 2)
    return out


def test_a_package_is_read_without_dpkg(tmp_path):
    path = tmp_path / "a.deb"
    path.write_bytes(deb({"bin/x": b"program", "etc/y": b""}))
    assert {name: get() for name, _, get in debian.files(path)} == {"bin/x": b"program", "etc/y": b""}


def test_what_is_no_package_is_said_to_be_none(tmp_path):
    path = tmp_path / "a.deb"
    path.write_bytes(b"<html>not found</html>")
    with pytest.raises(SeekwiseError, match="not a Debian package"):
        list(debian.files(path))


def test_without_network_one_sentence_names_the_mirror(monkeypatch, tmp_path):
    monkeypatch.setenv("SEEKWISE_LAB", str(tmp_path))
    monkeypatch.setenv("SEEKWISE_DEBIAN", "http://127.0.0.1:9")
    with pytest.raises(MissingError, match="cannot be fetched from http://127.0.0.1:9"):
        debian.fetch(kernels.find("6.1").package, lambda _: None)


def test_packages_come_from_where_this_machines_apt_fetches(monkeypatch, tmp_path):
    apt = tmp_path / "apt-get"
    apt.write_text(
        "#!/bin/sh\necho http://localhost/else/\necho http://localhost/a/debian-security/\necho http://localhost/b/debian/\n"
    )
    apt.chmod(0o755)
    monkeypatch.delenv("SEEKWISE_DEBIAN", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert debian._address("debian/pool/x.deb") == "http://localhost/b/debian/pool/x.deb"
    assert debian._address("debian-security/pool/x.deb") == "http://localhost/a/debian-security/pool/x.deb"
    apt.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(MissingError, match="no mirror"):
        debian._address("debian/pool/x.deb")


def test_a_package_with_other_bytes_than_pinned_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("SEEKWISE_LAB", str(tmp_path))
    monkeypatch.setattr(debian, "_get", lambda _: b"something else")
    with pytest.raises(SeekwiseError, match="checksum"):
        debian.fetch(kernels.find("6.1").package, lambda _: None)
    assert not list((tmp_path / "packages").iterdir())


def test_modules_come_after_what_they_need_and_built_in_ones_are_left_out():
    files = {
        "lib/modules/v/kernel/a-b.ko": b"\0depends=c,d\0",
        "lib/modules/v/kernel/c.ko.xz": lzma.compress(b"\0depends=\0"),
        "lib/modules/v/modules.builtin": b"kernel/d.ko\n",
    }
    found = modules.of_package({name: (lambda content=content: content) for name, content in files.items()})
    assert found.ordered(("a_b",)) == ["c", "a_b"]
    with pytest.raises(SeekwiseError, match="no module e"):
        found.ordered(("e",))


def test_a_bfq_trial_on_a_raid5_sets_members_first_and_takes_everything_down():
    storage = script.Storage("wd2500ys", 3, 31, True, {}, "raid5", 64)
    made = parse.loads(STUDY.format(more=""), "here")
    facts = LabBackend(Options()).describe(made)
    from seekwise.workload.study import planning

    combination = planning.make(made, facts).combinations[0]
    text, files = script.trial(4, storage, combination.load, {"scheduler": "bfq", "iosched.low_latency": 0}, seed=7)
    order = ["serve t4 3", "put 31 /sys/block/nbd0/queue/nr_requests", "put bfq", "put 62 /sys/block/nbd0/queue/nr_requests",
             "/sys/block/nbd0/queue/iosched/low_latency", "--level=5 --chunk=64 --assume-clean", "fio --output", "--stop", "unserve t4 3"]  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    job = files["cell/t4.0.fio"].data.decode()
    assert "filename=/dev/md0" in job and "zero_buffers=1" in job and "randseed=7" in job


def test_files_are_laid_out_on_a_file_system_and_each_phase_finds_an_empty_cache():
    storage = script.Storage("wd2500ys", 1, 31, True, {}, filesystem="ext4")
    made = parse.loads(STUDY.format(more='options = { filesystem = "ext4" }'), "here")
    from seekwise.workload.study import planning

    combination = planning.make(made, LabBackend(Options()).describe(made)).combinations[0]
    text, files = script.trial(2, storage, combination.load, {"scheduler": "bfq"}, seed=7)
    order = [
        "serve t2 1",
        "/cell/mke2fs",
        "mount -t ext4",
        "t2.layout",
        "drop_caches",
        "fio --output-format",
        "umount",
        "unserve t2 1",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    job = files["cell/t2.0.fio"].data.decode()
    assert "directory=/tmp/data" in job and "/dev/nbd0" not in job
    assert "bs=1m" in files["cell/t2.layout"].data.decode()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('options = { filesystem = "xfs" }', "no file system `xfs`"),
        ('kernel = "2.6.24"', "no kernel 2.6.24"),
        ("drives = 2", "no `raid_level`"),
        ('drives = 2\nraid_level = "raid5"', "at least 3 drives"),
        ('drives = 2\nraid_level = "raid7"', "makes no `raid7`"),
        ('controller = "x"', "controller"),
        ('drives = 3\nraid_level = "raid5"\nchunk_kib = 48', "power of two"),
        ("options = { partition_scam = true }", "unknown option `partition_scam`"),
        ('options = { hosst = "laboratory" }', "unknown option `hosst`"),
    ],
)
def test_what_the_laboratory_cannot_do_is_said_before_anything_starts(more, said):
    study = parse.loads(STUDY.format(more=more), "here")
    with pytest.raises(UsageError, match=said):
        LabBackend(Options()).describe(study)


def test_a_buffered_load_without_a_limit_is_refused():
    study = parse.loads(STUDY.format(more="") + "direct = false\n", "here")
    with pytest.raises(UsageError, match="without `memory_limit`"):
        LabBackend(Options()).describe(study)


@pytest.mark.parametrize(("name", "meant"), [("bqf", "bfq"), ("kyper", "kyber"), ("deadline", "mq-deadline")])
def test_a_scheduler_that_the_kernel_does_not_have_is_refused_with_the_one_meant(name, meant):
    study = parse.loads(STUDY.format(more="").replace('"bfq"', f'"{name}"'), "here")
    with pytest.raises(UsageError, match=f"no scheduler `{name}`") as caught:
        LabBackend(Options()).describe(study)
    assert meant in caught.value.hint


@pytest.mark.parametrize(
    ("more", "rotational", "cgroup", "starter"),
    [
        ("", False, False, "chrt -f 10 fio"),
        ("", True, False, "fio"),
        ('direct = false\nmemory_limit = "64m"\n', False, False, "limited 67108864 fio"),
        ("", False, True, "grouped io chrt -f 10 fio"),
        ("", True, True, "grouped io fio"),
    ],
)
def test_a_direct_load_on_flash_runs_ahead_of_the_kernels_threads_with_the_usual_priority(
    more, rotational, cgroup, starter
):
    from seekwise.workload.study import planning

    made = parse.loads(STUDY.format(more="") + more, "here")
    load = planning.make(made, LabBackend(Options()).describe(made)).combinations[0].load
    storage = script.Storage("wd2500ys", 1, 31, rotational, {}, cgroup=cgroup)
    text, files = script.trial(0, storage, load, {"scheduler": "bfq"}, seed=7)
    assert f"\n{starter} --output" in text
    assert ("prioclass=2\nprio=4\n" in files["cell/t0.0.fio"].data.decode()) == ("chrt" in starter)


def test_a_typo_in_a_models_name_is_a_usage_error_that_names_the_one_meant(tmp_path):
    study = tmp_path / "s.toml"
    study.write_text(STUDY.format(more="").replace("wd2500ys", "wd2500yz"))
    done = CliRunner().invoke(cli, ["lab", str(study)], standalone_mode=False)
    assert isinstance(done.exception, UsageError)
    assert "wd2500yz" in done.exception.message and "wd2500ys" in done.exception.message


def test_a_guest_without_qemu_is_one_sentence(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(MissingError, match="qemu-system-x86_64 is not installed"):
        machine.qemu()


def test_a_panic_in_the_guest_is_named():
    with pytest.raises(machine.GuestError, match="panicked: VFS: Unable to mount"):
        machine._result(b"", b"[    1.2] Kernel panic - VFS: Unable to mount root fs\r\n", 1.0)


def test_a_guest_gets_a_processor_that_no_other_has_while_there_is_one():
    allowed = os.sched_getaffinity(0)
    assert processor.idlest() in allowed
    for one in allowed:
        assert processor.idlest([one]) != one or allowed == {one}
    assert processor.idlest(allowed) in allowed


def test_all_of_a_guest_stays_on_its_processor_and_what_it_starts_has_no_privilege():
    number = max(os.sched_getaffinity(0))
    look = "import os, threading; f = lambda: print(os.sched_getaffinity(0), os.sched_getscheduler(0)); f()"
    look += "; t = threading.Thread(target=f); t.start(); t.join()"
    said = subprocess.run(
        [*processor.only_on(number), sys.executable, "-c", look], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    first, started = said
    assert started == f"{{{number}}} {os.SCHED_OTHER}"
    # With the flag that the class is not passed on; ordinary where we may not ask for more.
    ahead = f"{{{number}}} {os.SCHED_FIFO | os.SCHED_RESET_ON_FORK}"
    assert first == (ahead if processor.only_on(number)[0] == "chrt" else started)
