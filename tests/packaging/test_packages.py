"""Every package, installed and run in a fresh root folder of Debian: nothing of this checkout or this machine helps it.

Root folders come from mmdebstrap and are kept in `$SEEKWISE_LAB/roots` (default ~/.cache/seekwise/lab/roots) between runs; each test works
on a copy-on-write overlay of one. Packages are those that `make packages` made; without them the tests say so, and fail in CI, which makes them.
"""

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.packaging.test_notice import unnamed

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
RELEASES = {"12": "bookworm", "13": "trixie"}
LAB = Path(os.environ.get("SEEKWISE_LAB") or Path.home() / ".cache" / "seekwise" / "lab")
IN_CI = "SLOW_TESTS_UNTIL" in os.environ
NEEDED = ("mmdebstrap", "unshare", "mount")

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
        (pytest.fail if IN_CI else pytest.skip)(f"dist/{pattern} is not there; `make packages` makes it")
    return found[-1]


def base(release: str) -> Path:
    """A fresh minimal Debian; made once."""
    folder = LAB / "roots" / RELEASES[release]
    if not (folder / "etc" / "debian_version").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        mirror = subprocess.run([ROOT / "tools/debian_mirror.sh"], capture_output=True, text=True, check=True).stdout
        done = subprocess.run(
            ["mmdebstrap", "--quiet", "--variant=minbase", "--include=ca-certificates", RELEASES[release], str(folder),
             *mirror.split()],
            check=False, capture_output=True, text=True, timeout=900,
        )  # fmt: skip
        if done.returncode:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(f"no root folder of Debian {release} can be made here: {done.stderr.strip()[-300:]}")
    return folder


class Chroot:
    """Commands in a root folder of their own, without privileges beyond it that a package would not have."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *words: str, status: int = 0, timeout: float = 600) -> str:
        command = ["chroot", str(self.folder), "/usr/bin/env", "-i", "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "HOME=/root",
                   "LANG=C.UTF-8", "PIP_CERT=/etc/ssl/certs/ca-certificates.crt", "DEBIAN_FRONTEND=noninteractive",
                   "SEEKWISE_BUSY=1", *words]  # fmt: skip
        # In a session of its own: what takes too long ends with all that it started.
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        assert process.returncode == status, f"{words}: {process.returncode}\n{out[-3000:]}{err[-3000:]}"
        return out


Root = Callable[[str], contextlib.AbstractContextManager[Chroot]]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Root:
    """`with root("13") as run`: a fresh Debian that knows what apt can install. The lists are fetched once, as a layer below all tests."""
    listed: dict[str, Path] = {}

    def laid(release: str) -> contextlib.AbstractContextManager[Chroot]:
        if release not in listed:
            folder = tmp_path_factory.mktemp("lists")
            with overlay(folder, base(release)) as run:
                run("apt-get", "update", "-q")
            listed[release] = folder / "upper"
        return overlay(tmp_path_factory.mktemp("root"), listed[release], base(release))

    return laid


@pytest.fixture(params=list(RELEASES))
def fresh(request: pytest.FixtureRequest, root: Root) -> Iterator[tuple[str, Chroot]]:
    """(release, root folder)."""
    with root(request.param) as run:
        yield request.param, run


@contextlib.contextmanager
def overlay(folder: Path, *lower: Path) -> Iterator[Chroot]:
    """Root folders laid over each other, the last lowest, so that what a test installs goes away with FOLDER."""
    root = folder / "root"
    for name in ("upper", "work", "root"):
        (folder / name).mkdir()
    options = f"lowerdir={':'.join(map(str, lower))},upperdir={folder / 'upper'},workdir={folder / 'work'}"
    laid = subprocess.run(
        ["mount", "-t", "overlay", "overlay", "-o", options, str(root)], capture_output=True, text=True
    )
    if laid.returncode:
        pytest.skip(f"no overlay can be mounted here: {laid.stderr.strip()}")
    mounted = [root]
    try:
        for kind, place in (("proc", "proc"), ("devtmpfs", "dev"), ("sysfs", "sys")):
            subprocess.run(["mount", "-t", kind, kind, str(root / place)], check=True)
            mounted.append(root / place)
        shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
        # A mirror that fails once is no fault of the package.
        (root / "etc/apt/apt.conf.d/80retries").write_text('Acquire::Retries "5";\n')
        # The package registry may lie behind a mirror of this machine: the root folder trusts what the machine trusts.
        shutil.copy("/etc/ssl/certs/ca-certificates.crt", root / "etc" / "ssl" / "certs" / "ca-certificates.crt")
        yield Chroot(root)
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
    run("apt-get", "install", "-y", "-q", "--no-install-recommends", f"/tmp/{package.name}", timeout=900)
    works(run, "seekwise")
    judges(run, "seekwise")
    assert "fio" in run("fio", "--version")
    assert "/usr/share/man/man1/seekwise-import.1.gz" in run("dpkg", "-L", "seekwise")
    assert "tune" in run("sh", "-c", "COMP_WORDS='seekwise tu' COMP_CWORD=1 _SEEKWISE_COMPLETE=bash_complete seekwise")
    copyright_ = (run.folder / "usr/share/doc/seekwise/copyright").read_text(encoding="utf-8")
    brought = run.folder / "usr/lib/seekwise"
    assert not [
        name
        for name in unnamed(brought, copyright_)
        if "__pycache__" not in name and not name.startswith("usr/lib/seekwise/seekwise")
    ]
    entry = run.folder / "var/lib/seekwise/journal/1.entry"
    entry.parent.mkdir(parents=True, exist_ok=True)
    entry.touch()
    run("apt-get", "purge", "-y", "-q", "seekwise")
    assert run("sh", "-c", "ls -d /usr/lib/seekwise /usr/bin/seekwise* 2>/dev/null || true").strip() == ""
    assert entry.exists(), "what is in force can still be undone"
    entry.unlink()
    run("apt-get", "install", "-y", "-q", "--no-install-recommends", f"/tmp/{package.name}", timeout=900)
    run("apt-get", "purge", "-y", "-q", "seekwise")
    assert not entry.parents[1].exists()


TASKS = ROOT / "docs" / "what-it-is-for.md"
SEEN = {
    # It names what the kernel log shows of this machine, which may have no SATA disk.
    "devices": (
        "settings go to",
        "libata.force=",
        "The kernel log names no SATA disk.",
        "The kernel log says nothing of NCQ",
    ),
    "run queue-depth": "simulated: measure before you change a machine",
    "tune /srv --vary queue_depth": "only SCSI and SATA drives have it",
    "tune": ("Keep ", "Set ", "For "),
    "run raid-levels": "RAID 10 of 4",
    "advise --device": "tune",
    "advise --classes": "Make the default",
    "advise": "Build RAID 10",
    "compare": "after against before",
    "import": "4 records in run",
}
"""What a command of the page prints, by how it begins."""
STATUS = {"tune /srv --vary queue_depth": 4}
"""The file system of the test lies on a loop device, which has no such setting: that is said."""
TYPED = ("5.", "6.", "7.", "10.", "11.")
"""Tasks of the page that a fresh system without the user's files and programs can do."""


@pytest.mark.skipif(IN_CI, reason="measures for minutes, for which CI has no time; `make packages slow` has")
def test_tasks_of_the_page_are_done_by_a_new_user_in_three_commands_each(fresh, tmp_path):
    """What docs/what-it-is-for.md shows, typed as it stands there, on a file system of its own."""
    release, run = fresh
    package = built(f"seekwise_*~deb{release}_amd64.deb")
    shutil.copy(package, run.folder / "tmp" / package.name)
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
                words = line.removeprefix("seekwise ")
                status = next((each for begin, each in STATUS.items() if words.startswith(begin)), 0)
                shown = run("sh", "-c", f"cd /root && {line} 2>&1", status=status)
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


MOST_MB = 120


def test_the_sources_are_built_offline_by_debians_own_rust_and_installed_by_pipx_as_a_user(root):
    """Debian 13: its cargo is the Rust that Cargo.toml declares. The crates come with the sources, only Python's libraries are fetched."""
    with root("13") as run:
        sources = built("seekwise-*.tar.gz")
        shutil.copy(sources, run.folder / "tmp" / sources.name)
        run(
            "apt-get",
            "install",
            "-y",
            "-q",
            "--no-install-recommends",
            "pipx",
            "cargo",
            "gcc",
            "libc6-dev",
            timeout=900,
        )
        run("useradd", "--create-home", "someone")
        user = ("setpriv", "--reuid=someone", "--regid=someone", "--init-groups", "env", "--chdir=/home/someone", "HOME=/home/someone",
                "CARGO_NET_OFFLINE=true", "sh", "-c")  # fmt: skip
        run(*user, f"cd && pipx install -q /tmp/{sources.name}", timeout=1200)
        program = "/home/someone/.local/bin/seekwise"
        works(run, *user[:-2], program)
        judges(run, *user[:-2], program)
        size = run("du", "-s", "--block-size=MB", "/home/someone/.local/share/pipx/venvs/seekwise")
        assert int(size.split()[0].removesuffix("MB")) <= MOST_MB, size


def test_without_rust_one_sentence_says_what_is_missing(root):
    with root("12") as run:
        sources = built("seekwise-*.tar.gz")
        shutil.copy(sources, run.folder / "tmp" / sources.name)
        run("apt-get", "install", "-y", "-q", "--no-install-recommends", "python3-venv", timeout=900)
        run("python3", "-m", "venv", "/opt/seekwise")
        said = run("sh", "-c", f"/opt/seekwise/bin/pip install -q /tmp/{sources.name} 2>&1", status=1, timeout=900)
        assert "error: cargo is missing: building Seekwise needs Rust" in said
        assert "Traceback" not in said and "ownload" not in said, said


@pytest.mark.parametrize(
    "pattern",
    [
        "seekwise-*-manylinux*.whl",
        "seekwise_proof-*.whl",
        "seekwise-*.tar.gz",
        "seekwise_*~deb12*.deb",
        "seekwise_*~deb13*.deb",
    ],
)
def test_no_path_of_the_builder_is_in_it(pattern):
    """Neither in binaries, nor in RECORD, nor in the list of crates; each wheel has its licences and NOTICE."""
    path = built(pattern)
    homes = b"|".join(re.escape(str(each).encode()) for each in (ROOT, Path.home() / ".cargo", Path.home() / ".rustup"))
    own = re.compile(rb"(?<![\w./-])(?:" + homes + rb")/[\w./-]*|file://" + homes.split(b"|")[0] + rb"/")
    members = {}
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        assert {"LICENSE-APACHE", "LICENSE-MIT", "NOTICE"} <= {name.rsplit("/")[-1] for name in members}
        assert any(name.endswith(".cyclonedx.json") for name in members)
    else:
        unpack = ["dpkg-deb", "--fsys-tarfile"] if path.suffix == ".deb" else ["gzip", "--decompress", "--stdout"]
        done = subprocess.run([*unpack, str(path)], capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            for each in archive:
                file = archive.extractfile(each)
                # Libraries of others in Debian's packages were built elsewhere.
                if re.match(r"\./usr/lib/seekwise/(?!seekwise)", each.name) is None:
                    members[each.name] = file.read() if file else b""
    assert len(members) > 20
    found = {name: own.findall(data)[:3] for name, data in members.items() if own.search(data)}
    assert not found, found


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
