"""Virtual drives under the real kernel, without a kernel: what is refused, what is run, what is taken down."""

from __future__ import annotations

import contextlib
import errno
import json
import platform
import socket
import threading
from pathlib import Path

import pytest

from seekwise.backend import get
from seekwise.backend.protocol import Options
from seekwise.backend.virtual import backend, build, storage
from seekwise.control import child, nbd, recovery, virtual
from seekwise.control.journal import Journal
from seekwise.errors import MissingError, RefusedError, SeekwiseError, UsageError
from seekwise.study import parse, plan
from seekwise.study.model import System


def study(system: str, settings: str = 'scheduler = ["none"]', **more: str):
    return parse.loads(
        f"""
name = "planned"
backend = "virtual"
[[system]]
name = "planned"
{system}
[[workload]]
operations = ["rand_read"]
size = "64m"
runtime = "1s"
[settings]
{settings}
[design]
blocks = 1
""",
        "planned.toml",
    )


# --- what is refused, before anything is made ---


@pytest.mark.parametrize(
    ("system", "sentence"),
    [
        ('drive = "wd2500yz"', "no drive model is called `wd2500yz`; did you mean `wd2500ys`"),
        ('drive = "wd2500ys"\ndrives = 3', "3 drives and no `raid_level`"),
        ('drive = "wd2500ys"\ndrives = 2\nraid_level = "raid5"', "raid5 needs at least 3 drives, not 2"),
        ('drive = "wd2500ys"\ndrives = 2\nraid_level = "raid7"', "no `raid7`"),
        ('drive = "wd2500ys"\ndrives = 2\nraid_level = "raid0"\nchunk_kib = 48', "power of two"),
        ('drive = "wd2500ys"\noptions = { rpmm = 7200 }', "rpmm"),
        ('drive = "wd2500ys"\ncontroller = "3ware_9650se"', "only the simulator"),
        ('drive = "wd2500ys"\nkernel = "2.6.24"', "asks for Linux 2.6.24"),
        ('target = "/dev/sda"', "has no `drive`"),
    ],
)
def test_what_cannot_be_made_is_refused_in_a_sentence(system, sentence):
    with pytest.raises(UsageError, match=".") as refused:
        get("virtual", Options()).describe(study(system))
    assert sentence in refused.value.message


def test_the_kernel_that_runs_may_be_named(monkeypatch):
    monkeypatch.setattr(platform, "release", lambda: "6.1.0-56-amd64")
    backend._check_kernel(System(name="a", drive="wd2500ys", kernel="6.1"))
    with pytest.raises(UsageError, match="asks for Linux 6.12"):
        backend._check_kernel(System(name="a", drive="wd2500ys", kernel="6.12"))


def test_an_unknown_file_system_is_refused():
    with pytest.raises(UsageError, match="no file system `ext5`"):
        get("virtual", Options()).describe(study('drive = "wd2500ys"', 'filesystem = ["ext5"]'))


def test_without_nbd_it_says_so_in_one_line(monkeypatch):
    def missing(count):
        raise MissingError("the kernel's nbd module is not loaded", "modprobe nbd")

    monkeypatch.setattr(nbd, "require", missing)
    with pytest.raises(MissingError, match="need root and the nbd module: the kernel's nbd module is not loaded"):
        get("virtual", Options()).describe(study('drive = "wd2500ys"'))


def test_too_few_free_devices_are_refused(monkeypatch):
    monkeypatch.setattr(nbd.Path, "exists", lambda self: True)
    monkeypatch.setattr(nbd.os, "geteuid", lambda: 0)
    monkeypatch.setattr(nbd, "free_devices", lambda: [Path("/dev/nbd3")])
    with pytest.raises(RefusedError, match="4 drives are to be attached and 1 nbd devices are free"):
        nbd.require(4)


def test_destroy_and_virtual_drives_do_not_go_together():
    with pytest.raises(UsageError, match="leave `--destroy` out"):
        get("virtual", Options(destroy=("nbd0",)))


# --- what is made ---


def raid5() -> storage.Storage:
    return storage.of(System(name="a", drive="wd2500ys", drives=3, raid_level="raid5", chunk_kib=64), {})


def test_an_array_is_made_clean_with_its_chunk():
    command = raid5().array_command("md99", ["/dev/nbd0", "/dev/nbd1", "/dev/nbd2"])
    assert command[:3] == ["mdadm", "--create", "/dev/md99"]
    assert {"--level=5", "--chunk=64", "--assume-clean", "--bitmap=none", "--raid-devices=3"} <= set(command)
    mirror = storage.of(System(name="a", drive="wd2500ys", drives=2, raid_level="raid1"), {})
    assert not any(word.startswith("--chunk") for word in mirror.array_command("md99", ["x", "y"]))
    stripes = storage.of(System(name="a", drive="wd2500ys", drives=2, raid_level="raid0"), {})
    assert "--assume-clean" not in stripes.array_command("md99", ["x", "y"])


def test_a_factor_that_builds_takes_the_place_of_the_systems_own_word():
    system = System(name="a", drive="wd2500ys", drives=4, raid_level="raid5")
    made = storage.of(system, {"raid_level": "raid10", "chunk_kib": 32, "filesystem": "ext4"})
    assert (made.level, made.chunk_kib, made.filesystem) == ("raid10", 32, "ext4")


def test_the_kernel_sees_a_disk_as_a_disk():
    written = dict(raid5().queue())
    assert written["queue/rotational"] == "1"
    assert written["queue/nr_requests"] == "64"  # twice the 32 commands of the drive
    assert written["queue/scheduler"] == "mq-deadline"
    nvme = storage.of(System(name="a", drive="samsung_970_evo_plus"), {})
    assert dict(nvme.queue()) | {"queue/rotational": "0", "queue/scheduler": "none"} == dict(nvme.queue())


def tree(root: Path, devices: list[str]) -> None:
    """sysfs of idle nbd devices."""
    (root / "proc/self").mkdir(parents=True)
    for name in devices:
        queue = root / "sys/block" / name / "queue"
        queue.mkdir(parents=True)
        for file, value in {
            "scheduler": "[none] mq-deadline",
            "nr_requests": "128",
            "rotational": "0",
            "max_sectors_kb": "128",
        }.items():
            (queue / file).write_text(value)


class Machine:
    """Runs what is asked by noting it, and makes an array appear in sysfs."""

    def __init__(self, root: Path, fails: str | None = None) -> None:
        self.root, self.fails = root, fails
        self.ran: list[str] = []
        self.unmounted: list[str] = []

    def run(self, argv):
        self.ran.append(argv[0])
        if argv[0] == self.fails:
            return child.Completed(1, "", f"{argv[0]}: something is wrong\n")
        if argv[0] == "mdadm":
            folder = self.root / "sys/block" / argv[2].removeprefix("/dev/")
            (folder / "md").mkdir(parents=True)
            (folder / "md/array_state").write_text("clean")
            for device in argv[-3:]:
                (folder / "slaves" / Path(device).name).mkdir(parents=True)
        return child.Completed(0, "", "")

    def umount(self, place, flags):
        self.unmounted.append(Path(place).name)

    @contextlib.contextmanager
    def serve(self, made, folder, seed):
        self.ran.append("serve")
        try:
            yield build.Served(tuple(f"/dev/nbd{number}" for number in range(made.drives)), folder / "control")
        finally:
            self.ran.append("unserve")

    def built(self, made, journal):
        return build.built(made, 1, serve=self.serve, run=self.run, root=self.root, journal=journal, umount=self.umount)

    def array_state(self) -> str:
        return (self.root / "sys/block/md99/md/array_state").read_text().strip()

    def queue(self, device: str) -> dict[str, str]:
        return {file.name: file.read_text().strip() for file in (self.root / f"sys/block/{device}/queue").iterdir()}


@pytest.fixture
def machine(tmp_path):
    tree(tmp_path / "root", ["nbd0", "nbd1", "nbd2"])
    return Machine(tmp_path / "root")


def formatted() -> storage.Storage:
    return storage.of(System(name="a", drive="wd2500ys", drives=3, raid_level="raid5"), {"filesystem": "ext4"})


def test_everything_is_made_in_order_and_taken_down_in_reverse(machine, tmp_path):
    journal = Journal(tmp_path / "state")
    with machine.built(formatted(), journal) as made:
        assert made.path.endswith("/mount")
        assert machine.ran == ["serve", "mdadm", "mkfs.ext4", "mount"]
        assert machine.queue("nbd0")["rotational"] == "1"
        assert [entry.kind for entry in journal.entries()] == ["virtual"]
        folder = Path(made.path).parent
    assert machine.ran[-1] == "unserve"
    assert machine.unmounted == ["mount"]
    assert machine.array_state() == "clear"
    assert machine.queue("nbd2") == {
        "scheduler": "none",
        "nr_requests": "128",
        "rotational": "0",
        "max_sectors_kb": "128",
    }
    assert journal.entries() == [] and not folder.exists()


@pytest.mark.parametrize("program", ["mdadm", "mkfs.ext4", "mount"])
def test_a_build_that_fails_half_way_leaves_nothing(machine, tmp_path, program):
    machine.fails = program
    journal = Journal(tmp_path / "state")
    with pytest.raises(SeekwiseError, match="something is wrong"), machine.built(formatted(), journal):
        pass
    assert machine.ran[-1] == "unserve" and journal.entries() == []
    assert machine.queue("nbd0")["rotational"] == "0"
    if program != "mdadm":
        assert machine.array_state() == "clear"


def test_ctrl_c_while_measuring_leaves_nothing(machine, tmp_path):
    journal = Journal(tmp_path / "state")
    with pytest.raises(KeyboardInterrupt), machine.built(formatted(), journal):
        raise KeyboardInterrupt
    assert machine.array_state() == "clear" and journal.entries() == []


# --- what a killed run left ---


def item(root: Path, folder: Path, **more: object) -> dict:
    return {
        "folder": str(folder),
        "members": ["nbd0", "nbd1", "nbd2"],
        "array": "md99",
        "mount": None,
        "old": {},
        **more,
    }


def test_what_a_killed_run_left_is_taken_down_by_the_next_start(machine, tmp_path, monkeypatch):
    folder = virtual.new_folder()
    machine.run(raid5().array_command("md99", ["/dev/nbd0", "/dev/nbd1", "/dev/nbd2"]))
    whole = item(machine.root, folder, mount=str(folder / "mount"), old={"nbd0": {"queue/scheduler": "none"}})
    monkeypatch.setattr(
        recovery.virtual,
        "take_down",
        lambda each, real=virtual.take_down: real(each, machine.root, machine.umount),
    )
    journal = Journal(tmp_path / "state")
    entry = journal.open("virtual", [whole])
    assert recovery.restore(entry, journal).state == "busy"  # its run lives
    dead = type(entry)(
        **{
            **entry.__dict__,
            "held": False,  # nobody holds its file any more
        }
    )
    # The run's death lets go of its entry.
    journal._let_go(journal._path(entry.id))
    dead = type(entry)(**{**dead.__dict__, "held": False})
    outcome = recovery.restore(dead, journal)
    assert outcome.state == "restored" and "/dev/md99 is stopped" in outcome.sentences[0]
    assert machine.array_state() == "clear" and machine.unmounted == ["mount"]
    assert journal.entries() == [] and not folder.exists()


def test_another_array_of_that_name_is_left_alone(machine, tmp_path):
    machine.run(raid5().array_command("md99", ["/dev/sda", "/dev/sdb", "/dev/sdc"]))
    virtual.take_down(item(machine.root, tmp_path / "none"), machine.root)
    assert machine.array_state() == "clean"


def test_a_mount_that_stays_busy_is_detached(machine, tmp_path):
    asked = []

    def umount(place, flags):
        asked.append(flags)
        if not flags:
            raise OSError(errno.EBUSY, "busy")

    virtual.take_down(
        item(machine.root, tmp_path / "none", array=None, mount="/m"), machine.root, umount, pause=lambda seconds: None
    )
    assert asked[-1] == virtual.MNT_DETACH and len(asked) > 10


def test_an_array_that_stays_busy_is_said_and_kept_in_the_journal(machine, tmp_path, monkeypatch):
    machine.run(raid5().array_command("md99", ["/dev/nbd0", "/dev/nbd1", "/dev/nbd2"]))

    def busy(path, value):
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(virtual.sysfs, "write", busy)
    with pytest.raises(SeekwiseError, match="/dev/md99 cannot be stopped"):
        virtual.take_down(item(machine.root, tmp_path / "none"), machine.root, pause=lambda seconds: None)


# --- trials ---


def test_late_drives_make_a_trial_invalid():
    assert backend.late({"answers": 1000, "overruns": 10}) is None
    assert "11 of 1000 answers" in backend.late({"answers": 1000, "overruns": 11})
    assert backend.late({"answers": 0, "overruns": 0}) is None


def test_the_drives_say_what_they_did(tmp_path):
    path = tmp_path / "control"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def answer():
            line, _ = listener.accept()
            with line:
                assert line.recv(100) == b"status\n"
                drive = {"reads": 5, "writes": 3, "flushes": 1, "trims": 0, "overruns": 2}
                line.sendall(json.dumps({"drives": [drive, drive]}).encode() + b"\n")

        thread = threading.Thread(target=answer)
        thread.start()
        assert build.Served(("/dev/nbd0",), path).counts() == {"answers": 18, "overruns": 4}
        thread.join()


class FakeSession:
    def __init__(self, log, planned):
        self.log, self.plan = log, planned

    ended_ahead = 0

    def run(self, trials, attempts):
        for trial in trials:
            self.log.append(("trial", self.plan.settings[trial.setting].values))
            yield RECORD


class _Record:
    def __init__(self) -> None:
        self.factors: dict = {}


RECORD = _Record()


def test_storage_is_built_anew_only_when_a_trial_needs_another(monkeypatch):
    given = study(
        'drive = "wd2500ys"\ndrives = 2\nraid_level = "raid0"', 'chunk_kib = [64, 512]\nscheduler = ["none", "bfq"]'
    )
    facts = plan.SystemFacts(name="planned", target="x", leaves=("nbd0",), offered=("none", "bfq"), scheduler="none")
    made = plan.make(given, (facts,))
    log: list = []

    @contextlib.contextmanager
    def make(wanted, seed):
        log.append(("up", wanted.chunk_kib))
        yield build.Built("/", build.Served((), Path("control")))
        log.append(("down", wanted.chunk_kib))

    @contextlib.contextmanager
    def opened(stripped, *rest):
        assert not any("chunk_kib" in each.values for each in stripped.settings)
        assert not any("chunk_kib" in each.fixed for each in stripped.cells)
        yield FakeSession(log, stripped)

    class Target:
        is_device = False

    monkeypatch.setattr(backend, "find", lambda path: Target())
    monkeypatch.setattr(backend.fio, "find", lambda: None)
    monkeypatch.setattr(
        backend,
        "replace",
        lambda record, **changes: changes if isinstance(record, _Record) else REPLACE(record, **changes),
    )
    run = backend.VirtualRun(made, "r", {"planned": given.system[0]}, None, log.append, make, opened)
    factors = [record["factors"] for record in run.run(list(made.trials), {})]
    run.close()
    ups = [chunk for what, *rest in log if what == "up" for chunk in rest]
    downs = [chunk for what, *rest in log if what == "down" for chunk in rest]
    assert ups == downs and set(ups) == {64, 512}
    assert len(factors) == len(made.trials) and {each["chunk_kib"] for each in factors} == {64, 512}


REPLACE = backend.replace
