"""One boot of the guest: qemu by software emulation, a clock that counts instructions, results over the second serial
port.

Nothing is written to disk: the initramfs and both serial lines are files in memory, and qemu dies with us
(`control.child`). Not deterministic, and so not used: several processors, `shift=auto`, `sleep=on`, disks or networks
of the host. `processor` says why all of qemu stays on one of the host's processors.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import tarfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

from seekwise.control import child
from seekwise.errors import MissingError, SeekwiseError
from seekwise_proof.testbed import cpio, processor
from seekwise_proof.testbed.cpio import CpioEntry
from seekwise_proof.testbed.image import Image

QEMU = "qemu-system-x86_64"
MEMORY_MIB = 768
CPU = "qemu64"
CPU_OF_PROGRAMS = "max"
"""Programs of this machine use instructions that the oldest processors do not have (NumPy: x86-64-v2 at least)."""
# Without the tests of every cipher and without the certificates a boot takes half the time; modules load all the same.
COMMAND_LINE = (
    "console=ttyS0 quiet panic=-1 nokaslr mitigations=off tsc=reliable"
    " cryptomgr.notests initcall_blacklist=load_system_certificate_list"
)
LOOK_S = 0.5


@dataclass(frozen=True)
class Output:
    """What a guest brought back."""

    files: dict[str, bytes]
    host_s: float

    def text(self, name: str) -> str:
        """Empty where the guest wrote no such file; bytes that are no UTF-8 become U+FFFD."""
        return self.files.get(name, b"").decode(errors="replace")


class GuestError(SeekwiseError):
    """The guest did not do what its script says; the message ends with what it said last."""


def qemu() -> str:
    """qemu's path, or one sentence."""
    path = shutil.which(QEMU)
    if path is None:
        raise MissingError(f"{QEMU} is not installed", hint="apt-get install qemu-system-x86 (or dnf, pacman, zypper)")
    return path


@dataclass(frozen=True)
class Boot:
    """What a guest is started with: `files["cell/run.sh"]` is what it does."""

    image: Image
    files: dict[str, CpioEntry]
    timeout_s: float
    memory_mib: int = MEMORY_MIB
    cpu: str = CPU


class Guest:
    """A machine that runs; leaving the `with` ends it."""

    def __init__(self, what: Boot, processor_number: int) -> None:
        self.what = what
        self.processor = processor_number
        self.started_s = time.monotonic()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        try:
            files = [self._stack.enter_context(_memory_file(name)) for name in ("initrd", "console", "back", "said")]
            initrd, self._console, self._back, self._said = files
            initrd.write(self.what.image.initramfs.read_bytes() + cpio.pack(self.what.files))
            initrd.flush()
            command = [
                *processor.only_on(self.processor),
                qemu(), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
                "-M", "pc", "-accel", "tcg", "-cpu", self.what.cpu, "-smp", "1", "-m", str(self.what.memory_mib), "-seed", "1",
                "-rtc", "base=2025-01-01T00:00:00,clock=vm", "-icount", "shift=0,sleep=off",
                "-serial", f"file:{_path(self._console)}", "-serial", f"file:{_path(self._back)}",
                "-kernel", str(self.what.image.kernel), "-initrd", _path(initrd), "-append", COMMAND_LINE,
            ]  # fmt: skip
            self._load = self._stack.enter_context(child.started(command, stdout=self._said, stderr=self._said))
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def result(self, wait_s: float = 0.0) -> Output | None:
        """What came back, or None while it still runs; raises unless it ended well."""
        passed = time.monotonic() - self.started_s
        status = self._load.wait(wait_s)
        if status is None:
            if passed > self.what.timeout_s:
                raise GuestError(
                    f"the guest did not end within {self.what.timeout_s:.0f} s{_last(_read(self._console))}",
                    hint="the machine may be busy; shorter phases or fewer threads take less",
                )
            return None
        if status != 0:
            raise GuestError(f"{QEMU} ended with status {status}{_last(_read(self._said))}")
        return _result(_read(self._back), _read(self._console), passed)


def boot(what: Boot) -> Output:
    """One guest, to its end."""
    return next(boot_all([what], at_once=1))


def boot_all(what: Iterable[Boot], at_once: int) -> Iterator[Output]:
    """Guests side by side, results in the order in which they were asked for. Each is as deterministic as one alone."""
    waiting = iter(what)
    with contextlib.ExitStack() as stack:
        running: list[Guest] = []
        while True:
            while len(running) < at_once and (following := next(waiting, None)) is not None:
                on = processor.idlest([guest.processor for guest in running])
                running.append(stack.enter_context(Guest(following, on)))
            if not running:
                return
            output = running[0].result(LOOK_S)
            if output is not None:
                # The others need no look: what they have to say waits for them.
                running.pop(0).__exit__()
                yield output


def _result(back: bytes, console: bytes, host_s: float) -> Output:
    panic = re.search(rb"Kernel panic - ([^\r\n]+)", console)
    if panic:
        raise GuestError(f"the guest's kernel panicked: {panic[1].decode(errors='replace')}")
    try:
        with tarfile.open(fileobj=io.BytesIO(back), mode="r:gz") as archive:
            files = {
                entry.name.removeprefix("./"): content.read()
                for entry in archive
                if entry.isfile() and (content := archive.extractfile(entry)) is not None
            }
    except (tarfile.TarError, EOFError, OSError) as error:
        raise GuestError(f"nothing that can be read came back from the guest: {error}{_last(console)}") from None
    if files.get("status", b"").strip() != b"0":
        raise GuestError(f"the guest's script failed{_last(files.get('said') or console)}")
    return Output(files, host_s)


def _last(text: bytes) -> str:
    lines = [line.strip() for line in text.decode(errors="replace").splitlines() if line.strip()]
    return f"; last it said: {lines[-1][-200:]}" if lines else ""


def _memory_file(name: str) -> io.BufferedRandom:
    return os.fdopen(os.memfd_create(f"seekwise-lab-{name}"), "w+b")


def _path(file: io.BufferedRandom) -> str:
    # By our own number: the program may run in a process namespace of its own, where /proc/self would be nobody.
    return f"/proc/{os.getpid()}/fd/{file.fileno()}"


def _read(file: io.BufferedRandom) -> bytes:
    file.seek(0)
    return file.read()
