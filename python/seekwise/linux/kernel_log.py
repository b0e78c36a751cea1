"""NCQ as the kernel's log states it, of this boot or an older one: what libata said about each disk when it found it.

    ata3.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 31/32)      in use with 31 of the drive's 32 commands
    ata3.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 0/32)       the drive offers it, the driver does not use it
    ata3.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 32), AA     since Linux 4.19: one number
    ata3.00: 488397168 sectors, multi 0: LBA48                         no NCQ
    sata_nv 0000:00:05.0: Using SWNCQ mode                             how an nForce board's driver works

Source: Linux drivers/ata/libata-core.c ata_dev_config_ncq and ata_dev_configure; drivers/ata/sata_nv.c.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from seekwise.errors import SeekwiseError, UsageError
from seekwise.files import read_text

DISK = re.compile(r"(ata\d+(?:\.\d+)?): \d+ sectors, multi \d+: LBA\S*(?: (NCQ \((.*?)\)))?")
DEPTHS = re.compile(r"depth (\d+)(?:/(\d+))?")
NVIDIA = re.compile(r"sata_nv (\S+): Using (\w+) mode")


@dataclass(frozen=True)
class NcqState:
    port: str
    """`ata3.00`, or the PCI address of a board's controller."""
    state: str
    """`on`, `off` (offered but not used), `absent`, `refused` by a driver's list of bad drives, or a board's mode."""
    used: int | None
    offered: int | None
    line: str


def states(log: str) -> list[NcqState]:
    """Every statement about NCQ; the last one of a port counts, since a port that was reset says it again."""
    found: dict[str, NcqState] = {}
    for line in log.splitlines():
        if match := DISK.search(line):
            found[match[1]] = _disk(match, line.strip())
        elif match := NVIDIA.search(line):
            found[match[1]] = NcqState(match[1], f"{match[2]} mode of sata_nv", None, None, line.strip())
    return list(found.values())


def _disk(match: re.Match[str], line: str) -> NcqState:
    if match[2] is None:
        return NcqState(match[1], "absent", None, None, line)
    depths = DEPTHS.search(match[3])
    if depths is None:
        # `NCQ (not used)`: the driver's list of drives that break with it.
        return NcqState(match[1], "refused", None, None, line)
    used, offered = int(depths[1]), int(depths[2] or depths[1])
    return NcqState(match[1], "on" if used > 0 else "off", used, offered, line)


Run = Callable[[list[str]], "subprocess.CompletedProcess[str]"]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False)


def read(source: str, run: Run = _run) -> str:
    """The log of this boot (`0`: dmesg, else the journal), of an older one (`-1`: journalctl), or a file with one."""
    if re.fullmatch(r"0|-\d{1,4}", source):
        commands = [["journalctl", "--dmesg", "--boot", source, "--no-pager", "--output", "short-monotonic"]]
        # The ring buffer forgets its beginning, where the drives are: the journal keeps it.
        commands = [*commands, ["dmesg"]] if source == "0" else commands
        said = []
        for command in commands:
            try:
                done = run(command)
            except (OSError, subprocess.TimeoutExpired) as error:
                said.append(f"{command[0]}: {error}")
                continue
            if done.returncode == 0 and done.stdout.strip():
                return done.stdout
            said.append(f"{command[0]}: {(done.stderr or done.stdout).strip().splitlines()[:1] or ['no output']}")
        raise SeekwiseError(
            f"the kernel log of boot {source} cannot be read ({'; '.join(said)})",
            hint="run it as root, or name a file that holds a log: `dmesg > kernel.log`",
        )
    path = Path(source)
    try:
        return read_text(path, 1 << 30, errors="replace")
    except OSError as error:
        raise UsageError(
            f"`{source}` is neither a boot (0, -1, -2 …) nor a file that can be read ({error.strerror})",
            hint="`seekwise devices --ncq -1` reads the boot before this one",
        ) from error
