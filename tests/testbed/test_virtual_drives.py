"""`--backend virtual` under a real kernel: nbd, md, ext4, fio and our own Python in the laboratory's guest."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import seekwise
from seekwise.backend import get
from seekwise.backend.protocol import Options
from seekwise.study import parse, plan
from seekwise.testbed import machine
from seekwise.testbed.cpio import Entry

# Starting Python and drives in software emulation takes a minute or two of the host.
pytestmark = pytest.mark.timeout(1500)

HERE = Path(__file__).parent
PURE = ("click", "pydantic", "pydantic_core", "annotated_types", "typing_inspection")
NOT_NEEDED = re.compile(
    r"__pycache__|/(test|tests|idlelib|ensurepip|tkinter|turtledemo|lib2to3|config-[^/]*|site-packages)/"
)

DISK = """
name = "disk"
[[system]]
name = "disk"
drive = "wd2500ys"
options = { write_cache = 0 }
[[workload]]
operations = ["rand_read"]
threads = [1, 8]
size = "8m"
runtime = "3s"
[settings]
scheduler = ["mq-deadline", "bfq"]
[design]
blocks = 1
control = false
sentinel = false
"""
ARRAYS = """
name = "arrays"
[[system]]
name = "arrays"
drive = "wd2500ys"
drives = 3
# A file system of a few GB is made in seconds.
options = { capacity_sectors = 4194304 }
[[workload]]
operations = ["rand_write"]
threads = [2]
size = "4m"
runtime = "1s"
[settings]
raid_level = ["raid0", "raid5"]
filesystem = ["ext4"]
[design]
blocks = 1
control = false
sentinel = false
"""
KILLED = """
name = "killed"
[[system]]
name = "killed"
drive = "wd2500ys"
drives = 2
raid_level = "raid1"
[[workload]]
operations = ["rand_read"]
threads = [4]
size = "8m"
runtime = "60s"
[settings]
scheduler = ["none"]
[design]
blocks = 1
control = false
sentinel = false
"""
TYPO = DISK.replace('"wd2500ys"', '"wd2500yz"')
MANY = DISK.replace('drive = "wd2500ys"', 'drive = "wd2500ys"\ndrives = 64\nraid_level = "raid0"')


def with_libraries(program: Path) -> dict[str, Entry]:
    """A program of this machine's and what it is linked to, at the places where the loader looks."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    found = {}
    for path in re.findall(r"(/\S+\.so\S*)", listed):
        inside = path.lstrip("/")
        # The guest's /lib and /lib64 lead into /usr.
        inside = inside if inside.startswith("usr/") or not inside.startswith("lib") else "usr/" + inside
        found[inside] = Entry.file(Path(path).read_bytes(), executable=True)
    return found


def tree(source: Path, inside: str) -> dict[str, Entry]:
    found = {}
    for path in sorted(source.rglob("*")):
        if path.is_file() and not NOT_NEEDED.search(f"/{path.relative_to(source)}"):
            found[f"{inside}/{path.relative_to(source)}"] = Entry.file(
                path.read_bytes(), executable=path.suffix == ".so"
            )
            if path.suffix == ".so":
                found |= with_libraries(path)
    return found


def python() -> dict[str, Entry]:
    """This interpreter, its library, and this seekwise."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    program = Path(sys.executable).resolve()
    library = Path(sys.modules["os"].__file__).parent
    files = {f"host/bin/{version}": Entry.file(program.read_bytes(), executable=True), **with_libraries(program)}
    files |= tree(library, f"host/lib/{version}")
    site = Path(str(importlib.util.find_spec("click").origin)).parents[1]
    for name in PURE:
        files |= tree(site / name, f"host/site/{name}")
    files["host/site/typing_extensions.py"] = Entry.file((site / "typing_extensions.py").read_bytes())
    return files | tree(Path(seekwise.__file__).parent, "host/site/seekwise")


@pytest.fixture(scope="module")
def after(guest):
    """What the guest brought back of all studies."""
    mke2fs = shutil.which("mke2fs", path="/sbin:/usr/sbin")
    if mke2fs is None:
        pytest.skip("mke2fs is not installed: the guest could make no file system")
    image = guest("6.1")
    studies = {"typo": TYPO, "many": MANY, "disk": DISK, "arrays": ARRAYS, "killed": KILLED}
    script = """
modules nbd md_mod raid0 raid1 raid456 bfq ext4
mkdir -p /var/lib /root /dev/shm
export HOME=/root PYTHONPATH=/host/site PYTHONDONTWRITEBYTECODE=1
/host/bin/python3 -c 'import sys; print(sys.version)'
timeout 900 /host/bin/python3 /cell/virtual_guest.py
"""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    files = {
        **python(),
        "host/bin/python3": Entry.link(version),
        "usr/sbin/mkfs.ext4": Entry.file(Path(mke2fs).read_bytes(), executable=True),
        **with_libraries(Path(mke2fs)),
        "etc/mke2fs.conf": Entry.file(Path("/etc/mke2fs.conf").read_bytes()),
        "cell/run.sh": Entry.file(script.encode()),
        "cell/virtual_guest.py": Entry.file((HERE / "virtual_guest.py").read_bytes()),
        "cell/studies.json": Entry.file(json.dumps(studies).encode()),
    }
    return machine.boot(machine.Boot(image, files, 1400, memory_mib=2048))


def records(after: machine.Result, name: str) -> list[dict]:
    return [
        json.loads(text) for file, text in sorted(after.files.items()) if re.match(rf"{name}\.\d+\.\d+\.json", file)
    ]


@pytest.mark.parametrize("name", ["typo", "many", "disk", "arrays", "killed"])
def test_nothing_is_left(after, name):
    left = json.loads(after.text(f"{name}.left.json"))
    assert left.pop("rotational") == "0"
    assert not any(left.values()), left


def test_a_typo_and_too_many_drives_are_refused_in_one_sentence(after):
    assert "no drive model is called `wd2500yz`; did you mean `wd2500ys`" in after.text("typo.error")
    assert "64 drives are to be attached and 16 nbd devices are free" in after.text("many.error")


def test_records_are_those_of_real_hardware_with_the_badge_virtual(after):
    found = records(after, "disk")
    assert {(each["factors"]["scheduler"], each["factors"]["threads"]) for each in found} == {
        (scheduler, threads) for scheduler in ("mq-deadline", "bfq") for threads in (1, 8)
    }
    for each in found:
        assert each["badge"] == "virtual" and each["valid"], each["invalid_reason"]
        assert each["settings_seen"]["nbd0"]["queue/scheduler"] == each["factors"]["scheduler"]
        assert each["conditions"]["drives_answers"] >= each["phases"][0]["ios"]


def test_the_disk_is_as_fast_as_its_model(after):
    alone = DISK.replace("options = { write_cache = 0 }", 'kernel = "6.1"\noptions = { write_cache = 0 }')
    study = parse.loads(alone, "disk").model_copy(update={"backend": "simulated"})
    backend = get("simulated", Options())
    made = plan.make(study, backend.describe(study))
    with backend.session(made, "simulated", print) as session:
        expected = {
            (each.factors["scheduler"], each.factors["threads"]): each.phases[0].iops
            for each in session.run(list(made.trials), {})
        }
    for each in records(after, "disk"):
        key = (each["factors"]["scheduler"], each["factors"]["threads"])
        phase = each["phases"][0]
        assert phase["ios"] / phase["elapsed_s"] == pytest.approx(expected[key], rel=0.1), key


def test_an_array_and_its_file_system_are_made_for_each_setting(after):
    found = {each["factors"]["raid_level"]: each for each in records(after, "arrays")}
    assert set(found) == {"raid0", "raid5"}
    for level, each in found.items():
        assert each["valid"], each["invalid_reason"]
        assert each["factors"]["filesystem"] == "ext4" and each["environment"]["drives"] == 3
        phase = each["phases"][0]
        # A small write to RAID 5 reads and writes data and parity.
        moved = phase["device_bytes"] / phase["bytes"]
        assert (moved > 1.9) == (level == "raid5"), (level, moved)


def test_a_run_that_is_killed_had_its_array(after):
    before = json.loads(after.text("killed.before.json"))
    assert before["arrays"] and before["served"] and before["journal"] and before["servers"]
