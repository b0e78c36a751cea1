"""NCQ as the kernel's log states it, of this boot or an older one: what libata said about each disk when it found it.

    ata3.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 31/32)      in use with 31 of the drive's 32 commands
    ata3.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 0/32)       the drive offers it, the driver does not use it
    ata3.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 32), AA     since Linux 4.19: one number
    ata3.00: 488397168 sectors, multi 0: LBA48                         no NCQ
    ata3.00: failed command: READ FPDMA QUEUED                          a queued command failed; the lines below it say how:
    ata3.00: cmd 60/c0:08:… tag 1 ncq dma 360448 in                       its size in bytes
             res 40/00:01:… Emask 0x4 (timeout)                           why
    ata3.00: failed command: FLUSH CACHE EXT                            one that is not queued
    nvme nvme0: I/O 123 QID 4 timeout, aborting                         requests of drives that have no NCQ: NVMe, and SCSI
    sd 0:0:3:0: attempting task abort!scmd(0x00000000aa), …
    ata3.00: NCQ disabled due to excessive errors                       given up: `queue_depth` in sysfs stays what it was
    ata3.00: FORCE: horkage modified (noncq)                            libata.force= on the boot line; since 6.x without "horkage"
    Command line: … libata.force=3.00:noncq,5:noncq                     the same, where the lines above are lost
    ata3.00: disabled                                                  the kernel gave the drive up; since 5.18 "disable device"
    ahci 0000:00:1f.2: controller can't do NCQ, turning off CAP_NCQ    why its drives have depth 0
    sata_nv 0000:00:05.0: Using SWNCQ mode                             how an nForce board's driver works
    scsi 0:0:1:0: atapi(n), ncq(y), asyn_notify(n), …                  a SATA drive behind a SAS adapter, and how many commands it gets:
    scsi 0:0:1:0: qdepth(32), tagged(1), …

Source: Linux drivers/ata/libata-eh.c ata_eh_link_report; libata-core.c ata_dev_config_ncq, ata_dev_configure and ata_force_horkage (ata_force_quirks
since 6.12); libata-eh.c ata_eh_speed_down, ata_dev_disable; ahci (libahci.c, ahci_save_initial_config);
drivers/ata/sata_nv.c; drivers/nvme/host/pci.c nvme_timeout, nvme_warn_reset; drivers/usb/storage/uas.c; drivers/scsi/mpt3sas/mpt3sas_scsih.c scsih_display_sata_capabilities, scsih_slave_configure.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

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
    """`ata3.00`, the PCI address of a board's controller, the SCSI address of a drive whose name the log does not say, or `sdf`, `nvme0`."""
    state: str
    """`on`, `off` (offered but not used), `absent`, `refused` by a driver's list of bad drives, `lost` with its drive,
    a board's mode, or `unknown`: of that drive the log says only what failed."""
    used: int | None
    offered: int | None
    line: str
    reason: str | None = None
    """Why NCQ is not used; null where it is, and where the log does not say."""
    since_s: float | None = None
    """Seconds after the start at which it was given up."""
    cost: str | None = None
    """What the drive loses by it."""
    failed: int = 0
    """Commands that failed."""
    failures: str | None = None
    """How they failed, what the kernel did, and what to look at."""


FAILED = re.compile(r"(ata\d+(?:\.\d+)?): failed command: ([A-Z][A-Z ]{1,40})")
OTHERS = re.compile(
    r"nvme (?P<nvme>nvme\d+|[\da-f]{4}:[\da-f:.]{7}): (?:I/O (?:tag )?\d{1,9} .{0,80}timeout, (?P<did>[a-z ]{1,40})|(?P<down>controller is down))"
    r"|(?:sd|scsi) (?P<scsi>\d+:\d+:\d+:\d+): (?:attempting task abort|.{0,40}(?:uas_eh_abort_handler|OCR is requested due to IO timeout|hostbyte=DID_TIME_OUT))"
)
SCSI_NAME = re.compile(r"\bsd (\d+:\d+:\d+:\d+): \[(sd[a-z]+)\]")
SENT = re.compile(r"(ata\d+(?:\.\d+)?): cmd \S{1,80} tag \d+ (?:ncq )?(?:dma )?(\d{1,12})")
RESULT = re.compile(r"\bres \S{1,80} Emask 0x(?:3D)?([0-9a-f]+)(?: \(([^)]{1,40})\))?")
EMASK = {0x4: "timeout", 0x10: "ATA bus error", 0x8: "media error", 0x400: "NCQ error", 0x20: "host bus error", 0x2: "HSM violation", 0x1: "device error"}  # fmt: skip
"""Linux v6.1 drivers/ata/libata-eh.c, ata_err_string(), where a mail's lines end before the words."""
RESET = re.compile(r"(ata\d+(?:\.\d+)?): hard resetting link")
LARGEST_BYTES = 1280 * 1024
"""Of a request until Linux 6.16; since then up to 4 MiB, which some drives do not survive (linux-ide, January 2026)."""
CAUSES = {
    "timeout": ("timed out", "cable, power or the drive"),
    "ATA bus error": ("failed on the way (ATA bus error)", "cable, power or the port"),
    "media error": ("met sectors that cannot be read (media error)", "the drive, which fails (`smartctl -a`)"),
    "device error": ("were refused by the drive (device error)", "the drive (`smartctl -a`)"),
    "aborted": ("ran out of time", "the drive, its cable, bridge or expander"),
    "UAS": (
        "ran out of time",
        "cable, power or the bridge; `usb-storage.quirks=VID:PID:u` on the boot line turns UAS off",
    ),
    "NVMe timeout": (
        "timed out",
        "the drive's firmware, its slot, or power saving (`nvme_core.default_ps_max_latency_us=0`)",
    ),
    "polled": ("got no interrupt at the end", "lost interrupts (firmware of the board, or the host of a guest)"),
    "down": (
        "met a controller that is gone",
        "power saving (`nvme_core.default_ps_max_latency_us=0 pcie_aspm=off`), slot or drive",
    ),
}


@dataclass
class Failures:
    """Commands of one port that failed."""

    causes: list[str]
    at_s: float | None
    large: list[int]
    kind: Literal["queued command", "command", "request"]
    command: str = ""
    """Its name in the log."""
    was_reset: bool = False

    def text(self, count: int, *, given_up: bool) -> str:
        """`2 queued commands timed out (986753.7 s) and the link was reset: cable, power or the drive; …`."""
        cause = max(set(self.causes), key=self.causes.count) if self.causes else ""
        cause = "down" if "down" in self.causes else cause
        did, look = CAUSES.get(cause, (f"failed ({cause})" if cause else "failed", "the drive and its cable"))
        did = did.replace("were", "was") if count == 1 else did
        when = f" ({self.at_s:.1f} s)" if self.at_s is not None else ""
        reset = f" and the {'controller' if self.kind == 'request' else 'link'} was reset" if self.was_reset else ""
        size = ""
        if self.large:
            most = max(self.large)
            size = (
                f"; {len(self.large)} of {most / 2**20:g} MiB, until Linux 6.16 the most was {LARGEST_BYTES >> 10} KiB: try "
                f"max_sectors_kb={LARGEST_BYTES >> 10} before queue_depth=1"
            )
        more = "" if given_up or size else "; libata gives NCQ up after more"
        if self.command.startswith("SEND FPDMA"):
            more = "; it is a queued TRIM: libata.force=noncqtrim on the boot line turns that off alone"
        more = more if size or self.kind == "queued command" else "; no scheduler and no queue depth mends that"
        name = f"{self.kind}{'s' if count > 1 else ''}{f' ({self.command})' if self.kind == 'command' else ''}"
        return f"{count} {name} {did}{when}{reset}: {look}{size}{more}"


def states(log: str) -> list[NcqState]:
    """Every statement about NCQ; the last one of a port counts, since a port that was reset says it again."""
    known: dict[str, NcqState] = {}
    forced: dict[str, str] = {}
    given_up: dict[str, NcqState] = {}
    failures: dict[str, tuple[int, Failures]] = {}
    unable = at = ""
    for line in log.splitlines():
        line = line[:LONGEST_LINE]
        if START.search(line):
            forced.clear()
            given_up.clear()
            unable = at = ""
        if match := BOOT_LINE.search(line):
            forced.update(_on_boot_line(match[1]))
        if match := FAILED.search(line):
            at = match[1]
            is_queued = "FPDMA" in match[2]
            what = Failures([], _seconds(line), [], "queued command" if is_queued else "command", match[2].strip())
            count, kept = failures.get(at, (0, what))
            if kept.kind != what.kind:
                kept.kind, kept.command = "command", "queued and not"
            failures[at] = (count + 1, kept)
            # A log that begins later does not name the disk.
            known.setdefault(at, NcqState(at, "on" if is_queued else "unknown", None, None, line.strip()))
        elif match := OTHERS.search(line):
            port, did = match["nvme"] or match["scsi"], match["did"] or ""
            count, kept = failures.get(port, (0, Failures([], _seconds(line), [], "request")))
            # What was aborted before is told again when its controller is reset.
            kept.was_reset = kept.was_reset or "reset" in did
            failures[port] = (count + (not (match["down"] or "reset" in did) or not count), kept)
            causes = {
                "UAS": "uas_eh" in line,
                "aborted": match["scsi"],
                "down": match["down"],
                "polled": "polled" in did,
                "NVMe timeout": True,
            }
            kept.causes.append(next(filter(causes.get, causes)))
            known.setdefault(port, NcqState(port, "unknown", None, None, line.strip()))
        elif at and (SENT.search(line) or RESULT.search(line)):
            if sent := SENT.search(line):
                failures[at][1].large.extend([int(sent[2])] if int(sent[2]) > LARGEST_BYTES else [])
            # The journal keeps both in one message.
            if match := RESULT.search(line):
                mask = int(match[1], 16)
                failures[at][1].causes.append(match[2] or next((EMASK[bit] for bit in EMASK if mask & bit), "unknown"))
                at = ""
        elif match := RESET.search(line):
            for port, (_, kept) in failures.items():
                kept.was_reset = kept.was_reset or port.partition(".")[0] == match[1].partition(".")[0]
        elif match := FORCED.search(line):
            forced[match[1]] = match[2]
        elif match := NO_NCQ.search(line):
            unable = f"{match[1]} does not take queued commands: the driver lists the chip as broken"
        elif match := LOST.search(line):
            known[match[1]] = NcqState(
                match[1], "lost", None, None, line.strip(), "the kernel gave the drive up", _seconds(line)
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
    for port, (count, kept) in failures.items():
        known[port] = replace(known[port], failed=count, failures=kept.text(count, given_up=port in given_up))
    names = dict(SCSI_NAME.findall(log))
    return [replace(each, port=names.get(each.port, each.port)) for each in known.values()]


OTHER_FAULTS = {
    r"(ata\d+): limiting SATA link speed to (\S+ Gbps)": "the link was slowed to {1} after errors: cable, port or drive",
    r"(usb [\d.-]+): reset \S+ (?:Gen \d\S* )?USB device": "the device was reset: cable, power or bridge",
    r"(usb[\d.: -]+): UAS is (?:ignored|blacklisted|disabled)": "UAS is off by a quirk: one command at a time",
    r"md/raid\w*:(md\d+): Disk failure on (\w+)": "{1} failed and left the array: `mdadm --detail /dev/{0}`",
    r"(mmc(?:blk)?\d+): (?:Timeout waiting|error -\d+ \w+ing)": "the card did not answer: the card, its contacts or power",
    r"device-mapper: multipath: (?:\S+: )?Failing path (\d+:\d+)": "a path of a map failed: adapter, cable, switch or array (`multipath -ll`)",
    r"(?:I/O error|critical \w+ error), dev ((?!mmcblk)\w+), sector": "requests failed: the drive, its cable or what is below it (`smartctl -a /dev/{0}`)",
    r"(?:sd|scsi) (\d+:\S+): (?:\[\w+\] )?rejecting I/O to offline device": "the kernel took it offline after errors: drive, cable, path or target",
    r"(megaraid_sas \S+|hpsa \S+|aacraid|smartpqi \S+|mpt[23]sas_cm\d+): .{0,40}(?:OCR is requested|abort request|sending diag reset|[Rr]esetting|reset request)": "the controller gave commands up or was reset after a timeout: a drive, cabling or its firmware",
    r"(session\d+|connection\d+:\d+): (?:session recovery timed out|ping timeout|detected conn error)": "the iSCSI connection failed: network or target",
    r"(?:Buffer I/O error on dev(?:ice)? |(?:BTRFS|EXT4-fs|XFS)\b.{0,40}\()(?:device )?((?:dm-|md|sd|nvme|vd)[\w-]+)\b.*(?:logical block|errs:|I/?O error)": "reads or writes failed: look at what is below it",
    r"Pool '([^']{1,80})' has encountered an uncorrectable": "ZFS stopped the pool after failed requests: `zpool status {0}`",
    r"(megaraid_sas \S+): .*\b(DEGRADED|OFFLINE)\b": "a unit is {1}: ask the controller's tool",
    r"INFO: task (\S+?):\d+ blocked for more than (\d+) seconds": "waited longer than {1} s; `seekwise doctor PATH --watch 30s` says for which drive",
}  # fmt: skip
"""What a log tells of storage that is no matter of NCQ. Linux v6.1 drivers/ata/libata-core.c sata_print_link_status and
sata_down_spd_limit, drivers/usb/core/hub.c, drivers/md/raid5.c, block/blk-core.c blk_status_to_errno, kernel/hung_task.c."""


def other_faults(log: str) -> list[str]:
    """`ata3: the link was slowed to 1.5 Gbps after errors: …`, each once, with how often."""
    found: dict[str, int] = {}
    for line in log.splitlines():
        for pattern, words in OTHER_FAULTS.items():
            if match := re.search(pattern, line[:LONGEST_LINE]):
                said = f"{match[1]}: {words.format(*match.groups())}"
                found[said] = found.get(said, 0) + 1
    return [f"{said} ({count} times)" if count > 1 else said for said, count in found.items()]


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
    offered = before.offered if before else None
    return NcqState(match[1], "off", 0, offered, line, f"given up after {why}", _seconds(line), COST)


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
        reason = "libata lists this drive, or it on this controller, as one that breaks with NCQ"
        return NcqState(port, "refused", None, None, line, reason, None, COST)
    used, offered = int(depths[1]), int(depths[2] or depths[1])
    if used > 0:
        return NcqState(port, "on", used, offered, line)
    reason = unable or "the controller, or its driver, does not take queued commands (IDE mode, for example)"
    return NcqState(port, "off", used, offered, line, reason, None, COST)


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
        text = read_text(path, 1 << 30, errors="replace")
    except OSError as error:
        raise UsageError(
            f"`{source}` is neither a boot (0, -1, -2 …) nor a file that can be read ({error.strerror})",
            hint="`seekwise devices --ncq -1` reads the boot before this one",
        ) from error
    if not text.strip() or "\0" in text:
        raise UsageError(
            f"{source} {'is not text' if text.strip() else 'is empty'}", hint="`dmesg > kernel.log` writes a log"
        )
    return text
