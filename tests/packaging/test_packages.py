"""Every package, installed and run in a fresh root folder of Debian: nothing of this checkout or this machine helps it.

Root folders come from debootstrap and are kept in `$SEEKWISE_LAB/roots` (default ~/.cache/seekwise/lab/roots) between runs; each test works
on a copy-on-write overlay of one. Packages are those that `make packages` made; without them the tests say so.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
RELEASES = {"12": "bookworm", "13": "trixie"}
LAB = Path(os.environ.get("SEEKWISE_LAB") or Path.home() / ".cache" / "seekwise" / "lab")
NEEDED = ("debootstrap", "unshare", "mount")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: chroot and overlay mounts"),
    pytest.mark.skipif(
        any(shutil.which(program) is None for program in NEEDED), reason=f"needs {', '.join(NEEDED)} (apt-get install)"
    ),
]


def built(pattern: str) -> Path:
    found = sorted(DIST.glob(pattern))
    if not found:
        pytest.skip(f"dist/{pattern} is not there; `make packages` makes it")
    return found[-1]


def base(release: str) -> Path:
    """A fresh minimal Debian; made once."""
    folder = LAB / "roots" / RELEASES[release]
    if not (folder / "etc" / "debian_version").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run(
            ["debootstrap", "--variant=minbase", "--include=ca-certificates", RELEASES[release], str(folder)],
            check=True, capture_output=True, timeout=900,
        )  # fmt: skip
    return folder


class Chroot:
    """Commands in a root folder of their own, without privileges beyond it that a package would not have."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: str, status: int = 0, timeout: float = 600) -> str:
        done = subprocess.run(
            ["chroot", str(self.folder), "/usr/bin/env", "-i", "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/root",
             "LANG=C.UTF-8", "PIP_CERT=/etc/ssl/certs/ca-certificates.crt", "DEBIAN_FRONTEND=noninteractive", *words],
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout


@pytest.fixture(params=list(RELEASES))
def fresh(request, tmp_path) -> Iterator[tuple[str, Chroot]]:
    """(release, root folder): an overlay, so that what a test installs goes away with it."""
    release = request.param
    lower, root = base(release), tmp_path / "root"
    for name in ("upper", "work", "root"):
        (tmp_path / name).mkdir()
    options = f"lowerdir={lower},upperdir={tmp_path / 'upper'},workdir={tmp_path / 'work'}"
    subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, str(root)], check=True)
    mounted = [root]
    try:
        for kind, place in (("proc", "proc"), ("devtmpfs", "dev"), ("sysfs", "sys")):
            subprocess.run(["mount", "-t", kind, kind, str(root / place)], check=True)
            mounted.append(root / place)
        shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
        # The package registry may lie behind a mirror of this machine: the root folder trusts what the machine trusts.
        shutil.copy("/etc/ssl/certs/ca-certificates.crt", root / "etc" / "ssl" / "certs" / "ca-certificates.crt")
        yield release, Chroot(root)
    finally:
        for place in reversed(mounted):
            subprocess.run(["umount", "--lazy", str(place)], check=False)


def works(run: Chroot, *program: str) -> None:
    """What a new user does first."""
    assert run(*program, "--version").startswith("seekwise ")
    assert "Commands:" in run(*program, "--help")
    assert "budgets instead of time" in run(*program, "explain", "bfq")
    assert "No such command" not in run(*program, "devices", "--help")


def judges(run: Chroot, *program: str) -> None:
    """What only the whole package does: simulate, judge, draw, import."""
    run(*program, "run", "demo")
    assert ".html" in run(*program, "report", "last")
    for name in ("fio-none.1.json", "fio-none.2.json", "fio-bfq.1.json", "fio-bfq.2.json"):
        shutil.copy(ROOT / "tests" / "importing" / "files" / name, run.folder / "tmp" / name)
    shown = run(*program, "import", *(f"/tmp/fio-{name}.json" for name in ("none.1", "none.2", "bfq.1", "bfq.2")))
    assert "4 records" in shown


def test_the_debian_package_is_installed_and_run_and_removed(fresh):
    release, run = fresh
    package = built(f"seekwise_*~deb{release}_amd64.deb")
    shutil.copy(package, run.folder / "tmp" / package.name)
    run("apt-get", "update", "-q")
    run("apt-get", "install", "-y", "-q", "--no-install-recommends", f"/tmp/{package.name}", timeout=900)
    works(run, "seekwise")
    judges(run, "seekwise")
    assert "fio" in run("fio", "--version")
    assert "/usr/share/man/man1/seekwise-import.1.gz" in run("dpkg", "-L", "seekwise")
    assert "tune" in run("sh", "-c", "COMP_WORDS='seekwise tu' COMP_CWORD=1 _SEEKWISE_COMPLETE=bash_complete seekwise")
    run("apt-get", "purge", "-y", "-q", "seekwise")
    assert run("sh", "-c", "ls -d /usr/lib/seekwise /usr/bin/seekwise* 2>/dev/null || true").strip() == ""


TASKS = ROOT / "docs" / "what-it-is-for.md"
SEEN = {
    "devices": "settings go to",
    "run queue-depth": "simulated: measure before you change a machine",
    "tune": ("Keep ", "Set ", "For "),
    "run raid-levels": "RAID 10 of 4",
    "advise --device": "tune",
    "advise --classes": "Make the default",
    "advise": "Build RAID 10",
    "compare": "after against before",
    "import": "4 records in run",
}
"""What a command of the page prints, by how it begins."""


TYPED = ("5.", "6.", "7.", "10.", "11.")
"""Tasks of the page that a fresh system without the user's files and programs can do."""


def test_tasks_of_the_page_are_done_by_a_new_user_in_three_commands_each(fresh, tmp_path):
    """What docs/what-it-is-for.md shows, typed as it stands there, on a file system of its own."""
    release, run = fresh
    package = built(f"seekwise_*~deb{release}_amd64.deb")
    shutil.copy(package, run.folder / "tmp" / package.name)
    run("apt-get", "update", "-q")
    run("apt-get", "install", "-y", "-q", "--no-install-recommends", f"/tmp/{package.name}", timeout=900)
    for each in (ROOT / "tests" / "importing" / "files").glob("fio-*.json"):
        shutil.copy(each, run.folder / "root" / each.name)
    tasks = re.findall(r"^## \d.*?(?=^## |\Z)", TASKS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(tasks) == 17
    tasks = [task for task in tasks if task.split()[1] in TYPED]
    with file_system(tmp_path / "disk.img", run.folder / "srv"):
        for task in tasks:
            typed = re.findall(r"^ {4}(?:sudo )?(seekwise .*)$", task, re.MULTILINE)
            assert 1 <= len(typed) <= 3, task.splitlines()[0]
            for line in typed:
                shown = run("sh", "-c", f"cd /root && {line}")
                words = line.removeprefix("seekwise ")
                wanted = next(text for begin, text in SEEN.items() if words.startswith(begin))
                assert any(each in shown for each in ([wanted] if isinstance(wanted, str) else wanted)), (
                    f"{line}\n{shown}"
                )


@contextlib.contextmanager
def file_system(image: Path, place: Path) -> Iterator[None]:
    """ext4 on a loop device, mounted at PLACE."""
    image.touch()
    os.truncate(image, 1 << 30)
    loop = subprocess.run(
        ["losetup", "--find", "--show", str(image)], check=True, capture_output=True, text=True
    ).stdout.strip()
    try:
        subprocess.run(["mkfs.ext4", "-q", loop], check=True)
        subprocess.run(["mount", loop, str(place)], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", "--lazy", str(place)], check=False)
    finally:
        subprocess.run(["losetup", "--detach", loop], check=False)


def test_the_wheel_needs_no_compiler(fresh):
    _, run = fresh
    wheel = built("seekwise-*-manylinux*.whl")
    shutil.copy(wheel, run.folder / "tmp" / wheel.name)
    run("apt-get", "update", "-q")
    run("apt-get", "install", "-y", "-q", "--no-install-recommends", "python3-venv", timeout=900)
    run("python3", "-m", "venv", "/opt/seekwise")
    run("/opt/seekwise/bin/pip", "install", "-q", "--only-binary=:all:", f"/tmp/{wheel.name}", timeout=900)
    works(run, "/opt/seekwise/bin/seekwise")
    judges(run, "/opt/seekwise/bin/seekwise")
    proof = built("seekwise_proof-*.whl")
    shutil.copy(proof, run.folder / "tmp" / proof.name)
    run("/opt/seekwise/bin/pip", "install", "-q", "--no-deps", f"/tmp/{proof.name}", timeout=900)
    checked = json.loads(run("sh", "-c", "/opt/seekwise/bin/seekwise verify drives --json || test $? = 5"))
    assert checked["total"] > 100
    assert checked["passed"] > 0.9 * checked["total"]


def test_the_collector_is_small_and_says_what_it_lacks(fresh):
    _, run = fresh
    wheel = built("seekwise_collector-*.whl")
    shutil.copy(wheel, run.folder / "tmp" / wheel.name)
    run("apt-get", "update", "-q")
    run("apt-get", "install", "-y", "-q", "--no-install-recommends", "python3-venv", timeout=900)
    run("python3", "-m", "venv", "--without-pip", "/opt/collector")
    run("python3", "-m", "venv", "/opt/pip")
    run(
        "sh",
        "-c",
        f"/opt/pip/bin/pip install -q --no-compile --only-binary=:all: --target /opt/collector/modules /tmp/{wheel.name}",
    )
    size = int(run("du", "-sk", "/opt/collector/modules").split()[0]) / 1024
    assert size < 30, f"{size:.1f} MiB"
    program = ("env", "PYTHONPATH=/opt/collector/modules", "python3", "-m", "seekwise.cli.main")
    works(run, *program)
    done = subprocess.run(
        ["chroot", str(run.folder), *program, "run", "demo"],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        timeout=300,
    )
    assert "records of run" in done.stdout or "seekwise-collector" in done.stderr, done.stderr


@pytest.mark.skipif(shutil.which("lintian") is None, reason="needs lintian")
@pytest.mark.parametrize("release", list(RELEASES))
def test_lintian_has_nothing_to_say(release):
    package = built(f"seekwise_*~deb{release}_amd64.deb")
    before = time.monotonic()
    done = subprocess.run(
        ["lintian", "--fail-on", "error,warning", "--allow-root", str(package)],
        capture_output=True, text=True, check=False, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-4000:]} after {time.monotonic() - before:.0f} s"
