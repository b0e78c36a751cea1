"""NCQ as the kernel's log states it, of this boot or an older one: what libata said about each disk when it found it.

    ata3.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 31/32)      in use with 31 of the drive's 32 commands
    ata3.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 0/32)       the drive offers it, the driver does not use it
    ata3.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 32), AA     since Linux 4.19: one number
    ata3.00: 488397168 sectors, multi 0: LBA48                         no NCQ
    ata3.00: NCQ disabled due to excessive errors                       given up: `queue_depth` in sysfs stays what it was
    ata3.00: FORCE: horkage modified (noncq)                            libata.force= on the boot line; since 6.x without "horkage"
    Command line: … libata.force=3.00:noncq,5:noncq                     the same, where the lines above are lost
    ata3.00: disabled                                                  the kernel gave the drive up; since 5.18 "disable device"
    ahci 0000:00:1f.2: controller can't do NCQ, turning off CAP_NCQ    why its drives have depth 0
    sata_nv 0000:00:05.0: Using SWNCQ mode                             how an nForce board's driver works
    scsi 0:0:1:0: atapi(n), ncq(y), asyn_notify(n), …                  a SATA drive behind a SAS adapter, and how many commands it gets:
    scsi 0:0:1:0: qdepth(32), tagged(1), …

Source: Linux drivers/ata/libata-core.c ata_dev_config_ncq, ata_dev_configure and ata_force_horkage (ata_force_quirks
since 6.12); libata-eh.c ata_eh_speed_down, ata_dev_disable; ahci (libahci.c, ahci_save_initial_config);
drivers/ata/sata_nv.c; drivers/scsi/mpt3sas/mpt3sas_scsih.c scsih_display_sata_capabilities, scsih_slave_configure.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from seekwise.errors import SeekwiseError, UsageError
from seekwise.files import read_text

DISK = re.compile(r"(ata\d+(?:\.\d+)?): \d+ sectors, multi \d+: LBA\S*(?: (NCQ \((.*?)\)))?")
DEPTHS = re.compile(r"depth (\d{1,4})(?:/(\d{1,4}))?")
GIVEN_UP = re.compile(r"(ata\d+(?:\.\d+)?): NCQ disabled due to (.{1,60})")
FORCED = re.compile(r"(ata\d+(?:\.\d+)?): FORCE: (?:horkage |quirks? )?modified \((noncq|ncq)\)")
SECONDS = re.compile(r"\[\s*(\d{1,12}(?:\.\d{1,9})?)\]")
COST = "one command at a time: the drive cannot reorder random requests (`seekwise explain ncq`)"
LONGEST_LINE = 4096
BOOT_LINE = re.compile(r"(?:[Cc]ommand line: |\b)libata\.force=(\S{1,200})")
START = re.compile(r"Linux version \d|^-- Boot ")
LOST = re.compile(r"(ata\d+(?:\.\d+)?): (?:disabled|disable device)\s*$")
NO_NCQ = re.compile(r"(ahci \S+): controller can't do NCQ")
SAS_NCQ = re.compile(r"(?:scsi|sd) (\d+:\d+:\d+:\d+): .{0,80}\bncq\(([yn])\)")
SAS_DEPTH = re.compile(r"(?:scsi|sd) (\d+:\d+:\d+:\d+): .{0,80}\bqdepth\((\d{1,5})\)")
NVIDIA = re.compile(r"sata_nv (\S+): Using (\w+) mode")


@dataclass(frozen=True)
class NcqState:
    port: str
    """`ata3.00`, the PCI address of a board's controller, or the SCSI address of a SATA drive behind a SAS adapter."""
    state: str
    """`on`, `off` (offered but not used), `absent`, `refused` by a driver's list of bad drives, `lost` with its drive,
    or a board's mode."""
    used: int | None
    offered: int | None
    line: str
    reason: str | None = None
    """Why NCQ is not used; null where it is, and where the log does not say."""
    since_s: float | None = None
    """Seconds after the start at which it was given up."""
    cost: str | None = None
    """What the drive loses by it."""


def states(log: str) -> list[NcqState]:
    """Every statement about NCQ; the last one of a port counts, since a port that was reset says it again."""
    known: dict[str, NcqState] = {}
    forced: dict[str, str] = {}
    given_up: dict[str, NcqState] = {}
    unable = ""
    for line in log.splitlines():
        line = line[:LONGEST_LINE]
        if START.search(line):
            forced.clear()
            given_up.clear()
            unable = ""
        if match := BOOT_LINE.search(line):
            forced.update(_on_boot_line(match[1]))
        if match := FORCED.search(line):
            forced[match[1]] = match[2]
        elif match := NO_NCQ.search(line):
            unable = f"{match[1]} does not take queued commands: the driver lists the chip as broken"
        elif match := LOST.search(line):
            known[match[1]] = NcqState(
                match[1], "lost", None, None, line.strip(), "the kernel gave the drive up", _seconds(line), None
            )
        elif match := SAS_NCQ.search(line):
            has = match[2] == "y"
            reason = None if has else "the adapter says that the drive does not offer it"
            known[match[1]] = NcqState(match[1], "on" if has else "absent", None, None, line.strip(), reason)
        elif (match := SAS_DEPTH.search(line)) and known.get(match[1], NO_STATE).state == "on":
            known[match[1]] = replace(known[match[1]], used=int(match[2]), offered=int(match[2]))
        elif match := GIVEN_UP.search(line):
            before = known.get(match[1])
            given_up[match[1]] = known[match[1]] = _given_up(match, before, line.strip())
        elif match := DISK.search(line):
            state = _disk(match, line.strip(), forced, unable)
            # A reset tells the drive's identity again, not that its queueing is used again (ATA_DFLAG_NCQ_OFF stays).
            known[match[1]] = (
                given_up[match[1]] if match[1] in given_up and not _is_new_start(line, given_up[match[1]]) else state
            )
        elif match := NVIDIA.search(line):
            known[match[1]] = NcqState(match[1], f"{match[2]} mode of sata_nv", None, None, line.strip())
    return list(known.values())


NO_STATE = NcqState("", "", None, None, "")


def _seconds(line: str) -> float | None:
    time = SECONDS.search(line)
    return float(time[1]) if time else None


def _on_boot_line(text: str) -> dict[str, str]:
    """`3.00:noncq,5:noncq,noncq` by port and device; "" for all of them. A value without a port is for the one before
    it (libata.force)."""
    forced: dict[str, str] = {}
    port = ""
    for part in text.split(","):
        where, sign, value = part.rpartition(":")
        port = f"ata{where}" if sign else port
        if value in ("noncq", "ncq"):
            forced[port] = value
    return forced


def _given_up(match: re.Match[str], before: NcqState | None, line: str) -> NcqState:
    why = "errors" if match[2].startswith("excessive errors") else match[2].strip()
    return NcqState(
        match[1], "off", 0, before.offered if before else None, line, f"given up after {why}", _seconds(line), COST
    )  # fmt: skip


def _is_new_start(line: str, given_up: NcqState) -> bool:
    """Whether a line is of a later boot in the same file: its clock has begun again."""
    time = _seconds(line)
    return time is not None and given_up.since_s is not None and time < given_up.since_s


def _disk(match: re.Match[str], line: str, forced: dict[str, str], unable: str) -> NcqState:
    port = match[1]
    if match[2] is None:
        return NcqState(port, "absent", None, None, line, "the drive does not offer it")
    depths = DEPTHS.search(match[3])
    if depths is None:
        # `NCQ (not used)`: the boot line, or the driver's list of drives that break with it.
        if "noncq" in (forced.get(port), forced.get(port.partition(".")[0]), forced.get("")):
            return NcqState(port, "off", 0, None, line, "by libata.force on the boot line", None, COST)
        return NcqState(
            port,
            "refused",
            None,
            None,
            line,
            "libata lists this drive, or it on this controller, as one that breaks with NCQ",
            None,
            COST,
        )
    used, offered = int(depths[1]), int(depths[2] or depths[1])
    if used > 0:
        return NcqState(port, "on", used, offered, line)
    return NcqState(
        port,
        "off",
        used,
        offered,
        line,
        unable or "the controller, or its driver, does not take queued commands (IDE mode, for example)",
        None,
        COST,
    )


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
