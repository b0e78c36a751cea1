"""NCQ as the kernel's log states it, of this boot or an older one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from seekwise.cli.main import cli
from seekwise.errors import SeekwiseError, UsageError
from seekwise.linux import kernel_log
from seekwise.linux.kernel_log import read, states

LOG = """\
[    1.2] sata_nv 0000:00:05.0: Using SWNCQ mode
[    1.5] ata1.00: ATA-7: ST3250620NS, 3.AES, max UDMA/133
[    1.5] ata1.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 31/32)
[    1.6] ata2.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 0/32)
[    1.7] ata3.00: 1953525168 sectors, multi 1: LBA48 NCQ (depth 32), AA
[    1.8] ata4.00: 39102336 sectors, multi 16: LBA48
[    1.9] ata5.00: 976773168 sectors, multi 0: LBA48 NCQ (not used)
[   99.0] ata1.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 0/32)
"""


def test_depth_31_of_32_is_on_and_0_of_32_is_off():
    found = {each.port: (each.state, each.used, each.offered) for each in states(LOG)}
    assert found["ata2.00"] == ("off", 0, 32)
    assert found["ata3.00"] == ("on", 32, 32)
    assert found["ata4.00"] == ("absent", None, None)
    assert found["ata5.00"] == ("refused", None, None)
    assert found["0000:00:05.0"][0] == "SWNCQ mode of sata_nv"
    (first,) = states(LOG.splitlines()[2])
    assert (first.state, first.used, first.offered) == ("on", 31, 32)


def test_a_port_that_was_reset_has_its_last_state():
    assert next(each for each in states(LOG) if each.port == "ata1.00").state == "off"


# After the case 21 of the issue on files and answers: kernel logs that people posted.
GIVEN_UP = """\
[    2.1] ata10.00: 5860533168 sectors, multi 0: LBA48 NCQ (depth 32), AA
[  207.6] ata10.00: NCQ disabled due to excessive errors
[  207.7] ata10.00: failed command: WRITE FPDMA QUEUED
"""
RESET = "[  209.0] ata10.00: 5860533168 sectors, multi 0: LBA48 NCQ (depth 32), AA\n"
NEXT_BOOT = "[    2.0] ata10.00: 5860533168 sectors, multi 0: LBA48 NCQ (depth 32), AA\n"


@pytest.mark.parametrize(
    ("log", "state", "reason", "since"),
    [
        (GIVEN_UP, "off", "given up after errors", 207.6),
        (GIVEN_UP + RESET, "off", "given up after errors", 207.6),
        (GIVEN_UP + NEXT_BOOT, "on", None, None),
        (GIVEN_UP.replace("[  207.6] ", "kernel: "), "off", "given up after errors", None),
        ("[ 2.0] ata1.00: FORCE: horkage modified (noncq)\n[ 2.1] ata1.00: 61865984 sectors, multi 1: LBA48 NCQ (not used)\n", "off", "by libata.force on the boot line", None),
        ("[ 2.0] ata1.00: FORCE: modified (noncq)\n[ 2.1] ata1.00: 61865984 sectors, multi 1: LBA48 NCQ (not used)\n", "off", "by libata.force on the boot line", None),
        ("[ 2.1] ata1.00: 61865984 sectors, multi 1: LBA48 NCQ (not used)\n", "refused", "libata lists this drive, or it on this controller, as one that breaks with NCQ", None),
        ("[ 1.6] ata2.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 0/32)\n", "off", "the controller, or its driver, does not take queued commands (IDE mode, for example)", None),
        (GIVEN_UP.replace("[  207.6] ", "kernel: ") + "kernel: Linux version 6.1.0\n" + NEXT_BOOT, "on", None, None),
        ("Command line: ro libata.force=2:3.0Gbps,noncq,1.00:noncq\n[ 2.1] ata1.00: 61865984 sectors, multi 1: LBA48 NCQ (not used)\n", "off", "by libata.force on the boot line", None),
        ("Kernel command line: libata.force=noncq quiet\n[ 2.1] ata1.00: 61865984 sectors, multi 1: LBA48 NCQ (not used)\n", "off", "by libata.force on the boot line", None),
        ("Command line: ro libata.force=2.00:noncq\n[ 2.1] ata1.00: 61865984 sectors, multi 1: LBA48 NCQ (not used)\n", "refused", "libata lists this drive, or it on this controller, as one that breaks with NCQ", None),
        ("[ 1.0] ahci 0000:00:12.0: controller can't do NCQ, turning off CAP_NCQ\n[ 1.6] ata2.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 0/32)\n", "off", "ahci 0000:00:12.0 does not take queued commands: the driver lists the chip as broken", None),
    ],
)  # fmt: skip
def test_why_ncq_is_not_used(log, state, reason, since):
    (found,) = states(log)
    assert (found.state, found.reason, found.since_s) == (state, reason, since)
    assert (found.cost is None) == (state == "on")


def test_a_drive_that_the_kernel_gave_up_is_not_called_on():
    log = "[ 2.1] ata3.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 31/32)\n[ 60.5] ata3.00: failed to set xfermode (err_mask=0x40)\n"
    for word in ("disabled", "disable device"):
        (found,) = states(f"{log}[ 61.5] ata3.00: {word}\n")
        assert (found.state, found.since_s, found.reason) == ("lost", 61.5, "the kernel gave the drive up")
    assert states(log)[0].state == "on", "one mode that could not be set is tried again"


def test_a_sata_drive_behind_a_sas_adapter():
    log = (
        "[ 3.1] scsi 0:0:1:0: atapi(n), ncq(y), asyn_notify(n), smart(y), fua(y), sw_preserve(y)\n"
        "[ 3.2] scsi 0:0:1:0: qdepth(32), tagged(1), scsi_level(7), cmd_que(1)\n"
        "[ 3.3] scsi 0:0:2:0: atapi(n), ncq(n), asyn_notify(n), smart(y), fua(n), sw_preserve(n)\n"
        "[ 3.4] scsi 0:0:2:0: qdepth(32), tagged(1), scsi_level(7), cmd_que(1)\n"
    )
    assert [(each.port, each.state, each.used) for each in states(log)] == [
        ("0:0:1:0", "on", 32),
        ("0:0:2:0", "absent", None),
    ]


def test_other_lines_about_queued_commands_change_nothing():
    log = (
        "[ 2.1] ata1.00: NCQ Send/Recv Log not supported\n[ 2.1] ata1.00: disabling queued TRIM support\n"
        "[ 2.1] ata1.00: 488397168 sectors, multi 16: LBA48 NCQ (depth 32), AA\n[ 9.1] ata1.00: failed to enable AA (error_mask=0x1)\n"
        "[ 9.2] ata1.00: limiting speed to UDMA/33:PIO4\n"
    )
    assert [(each.port, each.state) for each in states(log)] == [("ata1.00", "on")]


@pytest.mark.parametrize("boot", ["0", "-1"])
def test_an_older_boot_is_read_from_the_journal(boot):
    asked = []

    def run(command):
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, LOG, "")

    assert read(boot, run) == LOG
    assert asked[0][:1] == ["journalctl"] and boot in asked[0]


def test_without_a_journal_this_boot_comes_from_dmesg_and_an_older_one_is_an_error():
    def run(command):
        code = 0 if command[0] == "dmesg" else 1
        return subprocess.CompletedProcess(command, code, LOG if code == 0 else "", "No journal files were found.")

    assert read("0", run) == LOG
    with pytest.raises(SeekwiseError, match="boot -1 cannot be read"):
        read("-1", run)


def test_the_command_reads_a_file_and_says_what_is_wrong_with_a_name(tmp_path):
    path = tmp_path / "kernel.log"
    path.write_text(LOG)
    result = CliRunner().invoke(cli, ["devices", "--ncq", str(path)])
    assert "ata2.00: NCQ off, depth 0 of 32" in result.output
    document = json.loads(CliRunner().invoke(cli, ["devices", "--ncq", str(path), "--json"]).output)
    assert document["ports"][0]["port"] == "0000:00:05.0"
    assert CliRunner().invoke(cli, ["devices", "--ncq", "no-such-boot"]).exception is not None
    for content, words in (("", "is empty"), ("a\0b", "is not text")):
        path.write_text(content)
        with pytest.raises(UsageError, match=words):
            read(str(path))


@pytest.mark.parametrize("words", [["--ncq", "-1"], ["--ncq=-12"], ["--json", "--ncq", "-1"]])
def test_an_older_boot_is_asked_for_as_the_help_says(words, monkeypatch):
    asked = []
    monkeypatch.setattr(kernel_log, "read", lambda boot: asked.append(boot) or LOG)
    assert CliRunner().invoke(cli, ["devices", *words]).exit_code == 0
    assert asked == [words[-1].rpartition("=")[2]]


LOGS = Path(__file__).parent / "logs"
FAILED = {
    "Jan 12 03:11:20 nas kernel: ata3.00: failed command: WRITE FPDMA QUEUED\n"
    "Jan 12 03:11:20 nas kernel: ata3.00: cmd 61/00:60:00:10:2f/04:00:0e:00:00/40 tag 12 ncq 524288 out\n"
    "          res 40/00:64:00:14:2f/00:00:0e:00:00/40 Emask 0x10 (ATA bus error)\n"
    "Jan 12 03:11:20 nas kernel: ata3: hard resetting link\n": "1 queued command failed on the way (ATA bus error) and the link was reset: cable, power or the port; libata gives NCQ up after more",
    "[  100.1] ata5.00: failed command: READ FPDMA QUEUED\n"
    "[  100.2] ata5.00: cmd 60/08:00:00:10:2f/00:00:0e:00:00/40 tag 0 ncq dma 4096 in\n"
    "          res 41/40:08:02:10:2f/00:00:0e:00:00/40 Emask 0x409 (media error) <F>\n"
    "[  201.3] ata5.00: NCQ disabled due to excessive errors\n": "1 queued command met sectors that cannot be read (media error) (100.1 s): the drive, which fails (`smartctl -a`)",
    "[  100.1] ata5.00: failed command: FLUSH CACHE EXT\n          res 40/00:00 Emask 0x4 (timeout)\n[  100.2] ata5: hard resetting link\n": "1 command (FLUSH CACHE EXT) timed out (100.1 s) and the link was reset: cable, power or the drive; no scheduler and no queue depth mends that",
    "[ 77.1] nvme 0000:01:00.0: I/O 99 QID 2 timeout, aborting\n": "1 request timed out (77.1 s): the drive's firmware, its slot, or power saving (`nvme_core.default_ps_max_latency_us=0`); no scheduler and no queue depth mends that",
    "[ 4312.8] nvme nvme0: I/O 123 QID 4 timeout, aborting\n[ 4312.9] nvme nvme0: I/O 124 QID 4 timeout, aborting\n"
    "[ 4343.0] nvme nvme0: I/O 123 QID 4 timeout, reset controller\n": "2 requests timed out (4312.8 s) and the controller was reset: the drive's firmware, its slot, or power saving (`nvme_core.default_ps_max_latency_us=0`); no scheduler and no queue depth mends that",
    "Mar 03 11:02:11 ws kernel: nvme nvme0: I/O tag 845 (a34d) opcode 0x1 (I/O Cmd) QID 12 timeout, reset controller\n": "1 request timed out and the controller was reset: the drive's firmware, its slot, or power saving (`nvme_core.default_ps_max_latency_us=0`); no scheduler and no queue depth mends that",
    "[  123.1] nvme nvme0: I/O 832 QID 3 timeout, completion polled\n": "1 request got no interrupt at the end (123.1 s): lost interrupts (firmware of the board, or the host of a guest); no scheduler and no queue depth mends that",
    "[  812.5] nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10\n": "1 request met a controller that is gone (812.5 s): power saving (`nvme_core.default_ps_max_latency_us=0 pcie_aspm=off`), slot or drive; no scheduler and no queue depth mends that",
    "[  812.1] sd 6:0:0:0: [sdb] tag#14 uas_eh_abort_handler 0 uas-tag 15 inflight: CMD IN\n": "1 request ran out of time (812.1 s): cable, power or the bridge; `usb-storage.quirks=VID:PID:u` on the boot line turns UAS off; no scheduler and no queue depth mends that",
    "[  120.1] ata2.00: failed command: SEND FPDMA QUEUED\n res 40/00 Emask 0x4 (timeout)\n": "1 queued command timed out (120.1 s): cable, power or the drive; it is a queued TRIM: libata.force=noncqtrim on the boot line turns that off alone",
    "[  100.1] nvme nvme0: 8/0/0 default/read/poll queues\n": None,
    "> [  15.1] ata1.00: failed command: READ FPDMA QUEUED\n> [  15.1] ata1.00: cmd 60/00:00:d8:66:b2/05 tag 0 ncq=\n dma 655360 in\n"
    ">         res 40/00:28:d8:7e:b2/00 Emask 0x1=\n (device error)\n": "1 queued command was refused by the drive (device error) (15.1 s): the drive (`smartctl -a`); libata gives NCQ up after more",
    "ata2.00: failed command: WRITE FPDMA QUEUED\n": "1 queued command failed: the drive and its cable; libata gives NCQ up after more",
    "ata2.00: failed command: WRITE FPDMA QUEUED\nata2.00: cmd 61/00 tag 13 ncq dma 4194304 out\n res 40/00 Emask 0x4 (timeout)\n"
    "ata2.00: NCQ disabled due to excessive errors\nata2.00: failed command: WRITE DMA EXT\nata2.00: cmd 35/00 tag 6 dma 4194304 out\n res 40/00 Emask 0x4 (timeout)\n": "2 commands (queued and not) timed out: cable, power or the drive; 2 of 4 MiB, until Linux 6.16 the most was 1280 KiB: try max_sectors_kb=1280 before queue_depth=1",
    "nvme nvme0: I/O tag 770 (1302) opcode 0x1 (I/O Cmd) QID 4 timeout, aborting\nnvme nvme0: I/O tag 770 (1302) opcode 0x1 (I/O Cmd) QID 4 timeout, reset controller\n"
    "nvme nvme0: controller is down; will reset: CSTS=0xffffffff\n": "1 request met a controller that is gone and the controller was reset: power saving (`nvme_core.default_ps_max_latency_us=0 pcie_aspm=off`), slot or drive; no scheduler and no queue depth mends that",
}  # fmt: skip


def test_queued_commands_that_time_out_are_counted():
    (state,) = states((LOGS / "ncq-timeout.txt").read_text())
    assert (state.port, state.state, state.used, state.failed) == ("ata12.00", "on", 32, 2)
    assert state.failures == (
        "2 queued commands timed out (986753.7 s) and the link was reset: cable, power or the drive; libata gives NCQ up after more"
    )


def test_a_request_larger_than_older_kernels_sent_is_looked_at_before_ncq():
    (state,) = states((LOGS / "ncq-large.txt").read_text())
    assert "1 of 4 MiB" in str(state.failures) and "try max_sectors_kb=1280 before queue_depth=1" in str(state.failures)
    shown = CliRunner().invoke(cli, ["devices", "--ncq", str(LOGS / "ncq-large.txt")]).stdout
    assert "NCQ on, depth 32 of 32, but 1 queued command timed out" in " ".join(shown.split())


@pytest.mark.parametrize("log", FAILED)
def test_how_a_queued_command_failed_is_said(log):
    assert [state.failures for state in states(log)] == ([FAILED[log]] if FAILED[log] else [])


def test_a_request_of_a_scsi_drive_is_told_by_the_drives_name_where_the_log_has_it():
    log = "sd 0:0:5:0: attempting task abort!scmd(0x0), outstanding for 30496 ms\nsd 0:0:5:0: [sdf] tag#2 CDB: Read(16)\nsd 0:0:6:0: attempting task abort!scmd(0x0)\n"
    assert [state.port for state in states(log)] == ["sdf", "0:0:6:0"]


OTHERS = {
    "[ 9.1] mmc0: Timeout waiting for hardware interrupt.\n[ 9.2] I/O error, dev mmcblk0, sector 12\n": "mmc0: the card did not answer",
    "[ 1.1] sd 10:0:0:0: rejecting I/O to offline device\n": "10:0:0:0: the kernel took it offline after errors",
    "[ 1.1] megaraid_sas 0000:18:00.0: resetting fusion adapter scsi0.\n": "megaraid_sas 0000:18:00.0: the controller gave commands up",
    "WARNING: Pool 'tank' has encountered an uncorrectable I/O failure and has been suspended.\n": "tank: ZFS stopped the pool",
    "[ 1.1] connection1:0: ping timeout of 5 secs expired, recv timeout 5\n": "connection1:0: the iSCSI connection failed",
    "[ 1.1] Buffer I/O error on device dm-8, logical block 96511296\n[ 1.2] EXT4-fs warning (device dm-8): ext4_end_bio:316: I/O error -5\n": "dm-8: reads or writes failed: look at what is below it (2 times)",
    "k kernel: device-mapper: multipath: 253:2: Failing path 66:160.\n": "66:160: a path of a map failed",
    "[ 4.4] ata3: limiting SATA link speed to 1.5 Gbps\n": "ata3: the link was slowed to 1.5 Gbps after errors",
    "Aug 23 19:13:21 h kernel: [9026.7] usb 2-1: reset SuperSpeed Gen 1 USB device number 2 using xhci_hcd\n" * 3: "usb 2-1: the device was reset: cable, power or bridge (3 times)",
    "[ 1.0] usb 2-1: UAS is ignored for this device, using usb-storage instead\n": "usb 2-1: UAS is off by a quirk",
    "Oct 12 04:11:07 nas kernel: md/raid:md2: Disk failure on sde3, disabling device.\n": "md2: sde3 failed and left the array",
    "[686060.6] blk_update_request: I/O error, dev sda, sector 89364488 op 0x0:(READ)\n": "sda: requests failed",
    "[ 1208.5] INFO: task jbd2/sda1-8:312 blocked for more than 120 seconds.\n": "jbd2/sda1-8: waited longer than 120 s",
}  # fmt: skip


@pytest.mark.parametrize("log", OTHERS)
def test_what_a_log_tells_beyond_ncq_is_not_passed_over(log, tmp_path):
    (tmp_path / "kernel.log").write_text(log)
    shown = " ".join(CliRunner().invoke(cli, ["devices", "--ncq", str(tmp_path / "kernel.log")]).stdout.split())
    assert shown.startswith(f"The kernel log says nothing of NCQ, but: {OTHERS[log]}")
