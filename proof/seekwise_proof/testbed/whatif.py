"""Programs on virtual drives, recorded by the guest's own tracepoints:
`python -m seekwise_proof.testbed.whatif FOLDER [WORD…]`.

A combination is a use on a storage under a scheduler. Each is run and recorded for real; `validate.whatif` takes one
recording, predicts what the other schedulers and storages would have done, and compares. In FOLDER come
`USE@STORAGE@SCHEDULER.swt`, the requests of a run as `seekwise record` would write them. WORDs choose the combinations
whose names contain all of them; what is there already is not run again.

Requests are recorded where a program hands them to the storage: above md, whose bios are traced, or at the drive's
queue.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from seekwise import temporary
from seekwise.files import make_folders, write_product
from seekwise.simulate.trial_spec import KERNEL_DEFAULT
from seekwise.trace.columns import Notes
from seekwise.trace.record import recorder, ring
from seekwise.workload.study.factors import Value
from seekwise.workload.study.study import System
from seekwise_proof.testbed import backend, filesystem, image, kernels, machine, script
from seekwise_proof.testbed.cpio import CpioEntry
from seekwise_proof.testbed.debian import Package, Say, fetch, files

DISKS = ("wd2500ys", "st3250620ns")
DISKS_READ_ON_KIB = 64
"""`read_ahead_min_kib` of the models when the tables were recorded: the real kernel met these very drives."""
DRIVES = (*DISKS, "crucial_mx500_1tb", "samsung_970_evo_plus")
ARRAYS = {
    "single": (None, 1, None),
    "raid1": ("raid1", 2, None),
    "raid5": ("raid5", 4, 64),
    "raid10": ("raid10", 4, 64),
}
SCHEDULERS = ("none", "mq-deadline", "kyber", "bfq")
BUFFER_KIB = 32_768
NVME_DEPTH = 64
"""nbd takes 128 requests at once; an NVMe drive gets so many."""
TIMEOUT_S = 900.0
SEED = 7
REGION = "offset=1g\noffset_increment=8g\nsize=4g"
"""Each job of fio has a part of its own."""
HEAD = "[global]\ndirect=1\nzero_buffers=1\nrandrepeat=1\nallrandrepeat=1\nrandseed=11\nthread=1\ngroup_reporting=1\n"


@dataclass(frozen=True)
class RecordedUse:
    """A load: fio's jobs on the device itself, or a program on ext4."""

    name: str
    disk: str = ""
    """fio's jobs for a disk, and those for flash, whose programs think between requests: the guest's one processor
    would be all that is seen."""
    flash: str = ""
    program: str = ""
    """Lines of the guest's shell, with files below /tmp/data."""
    prepare: str = ""


THINK_US = (3100, 3700, 4300, 5300)
"""Different ones, so that the programs do not march in step."""


def thinking(name: str, job: str) -> str:
    """Sections of one job, each with a part and a pause of its own after every request."""
    parts = ((us, job.replace("offset=1g", f"offset={1 + 20 * place}g")) for place, us in enumerate(THINK_US))
    return "".join(f"[{name}{us}]\n{own}thinktime={us}us\nthinktime_blocks=1\n" for us, own in parts)


READERS = f"rw=randread\nbs=4k\nnumber_ios=125\n{REGION}\n"
WRITERS = f"rw=randwrite\nbs=4k\nnumber_ios=250\n{REGION}\n"
STREAMS = f"rw=read\nbs=64k\nnumber_ios=250\n{REGION}\n"
QUEUE = f"[q]\nrw=randread\nbs=16k\nioengine=libaio\niodepth=16\nnumber_ios=1000\n{REGION}\n"
DATABASE = f"rw=randrw\nrwmixread=70\nbs=8k\nnumber_ios=150\n{REGION}\n"
BACKUP = "[backup]\nrw=read\nbs=128k\nnumber_ios=400\noffset=100g\nsize=8g\n"
USES = (
    RecordedUse("readers", f"[r]\nnumjobs=8\n{READERS}", thinking("r", f"numjobs=2\n{READERS}")),
    RecordedUse(
        "database-backup", thinking("db", DATABASE) + BACKUP, thinking("db", DATABASE) + BACKUP + "thinktime=2ms\n"
    ),
    RecordedUse("queue", QUEUE, QUEUE.replace("16k", "64k") + "rate_iops=2000\n"),
    RecordedUse("writers", f"[w]\nnumjobs=4\n{WRITERS}", thinking("w", WRITERS)),
    RecordedUse("streams", f"[s]\nnumjobs=4\n{STREAMS}", thinking("s", STREAMS)),
    RecordedUse(
        "sqlite",
        program="sqlite3 /tmp/data/db < /cell/work.sql > /dev/null",
        prepare="sqlite3 /tmp/data/db < /cell/make.sql > /dev/null",
    ),
)
MAKE_SQL = """PRAGMA journal_mode=DELETE; PRAGMA page_size=4096;
CREATE TABLE t(id INTEGER PRIMARY KEY, owner INTEGER, body BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<6000)
INSERT INTO t SELECT i, i % 97, zeroblob(400) FROM n;
"""
COMMITS = 80


def work_sql() -> str:
    """Commits that each change a row somewhere and read some others."""
    rows = [(number * 7919) % 6000 + 1 for number in range(COMMITS * 3)]
    return "PRAGMA cache_size=50;\n" + "".join(
        f"UPDATE t SET body=zeroblob({300 + number % 100}) WHERE id={rows[3 * number]};\n"
        f"SELECT sum(length(body)) FROM t WHERE id IN ({rows[3 * number + 1]},{rows[3 * number + 2]});\n"
        for number in range(COMMITS)
    )


PACKAGES = tuple(
    Package("debian/pool/main/" + path, sha256)
    for path, sha256 in (
        ("s/sqlite3/sqlite3_3.40.1-2+deb12u2_amd64.deb", "58e59f7db8a88f87333c3f9896b98146fdf4dc33eda75a1f79d9100d1b819909"),
        ("s/sqlite3/libsqlite3-0_3.40.1-2+deb12u2_amd64.deb", "a8d78b40e9b4e422224aeebfe0e4dfc243f6acf3532490b0c05480d4283d41e2"),
        ("r/readline/libreadline8_8.2-1.3_amd64.deb", "e02ebbd3701cf468dbf98d6d917fbe0325e881f07fe8b316150c8d2a64486e66"),
        ("z/zlib/zlib1g_1.2.13.dfsg-1_amd64.deb", "d7dd1d1411fedf27f5e27650a6eff20ef294077b568f4c8c5e51466dc7c08ce4"),
        ("n/ncurses/libtinfo6_6.4-4_amd64.deb", "072d908f38f51090ca28ca5afa3b46b2957dc61fe35094c0b851426859a49a51"),
    )
)  # fmt: skip
LIBRARIES = ("libsqlite3.so.0", "libreadline.so.8", "libz.so.1", "libtinfo.so.6")


def programs(say: Say) -> dict[str, CpioEntry]:
    """sqlite3 with its libraries, below /cell; and mke2fs."""
    entries = filesystem.programs(say)
    for package in PACKAGES:
        for name, entry, get in files(fetch(package, say)):
            file = name.rsplit("/", 1)[-1]
            if not entry.isfile():
                continue
            if file == "sqlite3" and "/bin/" in name:
                entries["cell/sqlite3"] = CpioEntry.file(get(), executable=True)
            for library in LIBRARIES:
                if file.startswith(library):
                    entries[f"cell/lib/{library}"] = CpioEntry.file(get(), executable=True)
    return entries | {
        "cell/make.sql": CpioEntry.file(MAKE_SQL.encode()),
        "cell/work.sql": CpioEntry.file(work_sql().encode()),
    }


@dataclass(frozen=True)
class RecordedCombination:
    use: RecordedUse
    drive: str
    array: str
    scheduler: str

    @property
    def name(self) -> str:
        """`USE@DRIVE.ARRAY@SCHEDULER`: the name of the recording's file."""
        flash = "" if self.use.program or self.drive in DISKS else "-flash"
        return f"{self.use.name}{flash}@{self.drive}.{self.array}@{self.scheduler}"

    @property
    def system(self) -> System:
        """With ext4 where the use runs programs, on the bare array where fio makes the load."""
        level, drives, chunk = ARRAYS[self.array]
        options: dict[str, Value] = {"filesystem": "ext4"} if self.use.program else {}
        if self.drive in DISKS:
            options["read_ahead_min_kib"] = DISKS_READ_ON_KIB
        return System(
            name=self.array, drive=self.drive, drives=drives, raid_level=level, chunk_kib=[chunk] if chunk else [],
            kernel=KERNEL_DEFAULT, options=options,
        )  # fmt: skip


def combinations() -> Iterator[RecordedCombination]:
    """Every combination that is recorded."""
    for use in USES:
        for drive in DRIVES:
            for array in ARRAYS:
                for scheduler in SCHEDULERS:
                    yield RecordedCombination(use, drive, array, scheduler)


def trial(number: int, combination: RecordedCombination) -> tuple[list[str], dict[str, CpioEntry], recorder.Device]:
    """The guest's lines for one combination, their files, and the device that is recorded."""
    storage = backend.storage(combination.system, {})
    values: dict[str, Value] = {"scheduler": combination.scheduler}
    if storage.depth > script.TAGS_MAX:
        values["queue_depth"] = NVME_DEPTH
        storage = replace(storage, depth=NVME_DEPTH)
    lines, entries = script.up(number, storage, values, SEED)
    # Linux include/uapi/linux/major.h: md 9, nbd 43.
    device = (9, 0) if storage.level else (43, 0)
    recorded = recorder.Device(storage.top, device, (device,), storage.level is None)
    if combination.use.program:
        lines += [
            *filesystem.made(storage.top, "")[:-2],
            "export LD_LIBRARY_PATH=/cell/lib PATH=$PATH:/cell",
            combination.use.prepare,
            "sync; put 3 /proc/sys/vm/drop_caches",
        ]
        run = combination.use.program
    else:
        ahead = "" if storage.rotational else script.AHEAD
        usual = "" if storage.rotational else "\n".join(script.USUAL_PRIORITY) + "\n"
        jobs = combination.use.disk if storage.rotational else combination.use.flash
        text = f"{HEAD}filename=/dev/{storage.top}\n{usual}{jobs}"
        entries[f"cell/t{number}.fio"] = CpioEntry.file(text.encode())
        run = f"{ahead}fio --output=/out/{number}/fio --eta=never /cell/t{number}.fio"
    lines += [f"seen {' '.join(storage.leaves)} > /out/{number}/seen", *_traced(number, recorded, run)]
    if combination.use.program:
        lines += ["sync", "unset LD_LIBRARY_PATH"]
    return [*lines, *script.down(number, storage)], entries, recorded


def _traced(number: int, device: recorder.Device, run: str) -> list[str]:
    tracing = "/sys/kernel/tracing"
    major, minor = device.disk
    lines = [f"[ -d {tracing}/events ] || mount -t tracefs tracefs {tracing}"]
    lines += [
        f"put 0 {tracing}/tracing_on",
        f"put {BUFFER_KIB} {tracing}/buffer_size_kb",
        f"put mono {tracing}/trace_clock",
    ]
    for event in device.events:
        folder = f"{tracing}/events/block/{event}"
        lines += [
            f"put 'dev == {major << 20 | minor}' {folder}/filter",
            f"put 1 {folder}/enable",
            f"cat {folder}/format > /out/{number}/format.{event}",
        ]
    return [
        *lines,
        f"put 1 {tracing}/tracing_on",
        run,
        f"put 0 {tracing}/tracing_on",
        # A read of what is empty waits for ever.
        f"timeout 1 cat {tracing}/per_cpu/cpu0/trace_pipe_raw > /out/{number}/raw || true",
        f"cat {tracing}/per_cpu/cpu0/stats > /out/{number}/stats",
        f"put 0 {tracing}/events/enable",
        f"echo > {tracing}/trace",
    ]


def run(wanted: list[RecordedCombination], folder: Path, say: Say, per_guest: int = 4) -> Iterator[Path]:
    """Runs and records combinations, several in a guest; a recording's path as it is written."""
    kept = image.build(kernels.find(KERNEL_DEFAULT), say)
    make_folders(folder)
    groups = [wanted[first : first + per_guest] for first in range(0, len(wanted), per_guest)]
    own = programs(say) if any(combination.use.program for combination in wanted) else {}
    devices: dict[str, recorder.Device] = {}

    def boots() -> Iterator[machine.Boot]:
        for group in groups:
            text, entries = [], dict(own)
            for number, combination in enumerate(group):
                lines, more, devices[combination.name] = trial(number, combination)
                text += lines
                entries |= more
            entries["cell/run.sh"] = CpioEntry.file(("\n".join(text) + "\n").encode())
            yield machine.Boot(kept, entries, TIMEOUT_S)

    for group, result in zip(groups, machine.boot_all(boots(), 1), strict=True):
        for number, combination in enumerate(group):
            path = folder / f"{combination.name}.swt"
            write(result, number, combination, devices[combination.name], path)
            say(f"{path.name}  ({result.host_s:.0f} s for {len(group)})")
            yield path


def write(
    result: machine.Output, number: int, combination: RecordedCombination, device: recorder.Device, path: Path
) -> None:
    """The guest's pages as a trace file, by the code that `seekwise record` uses."""
    formats = {event: result.text(f"{number}/format.{event}") for event in device.events}
    notes = Notes(
        source="seekwise record",
        machine={
            "model": combination.drive,
            "scheduler": combination.scheduler,
            "array": combination.array,
            "kernel": KERNEL_DEFAULT,
        },
    )
    with temporary.private("lab") as work:
        (Path(work) / "pages").mkdir()
        (Path(work) / "pages" / "cpu0").write_bytes(result.files[f"{number}/raw"])
        recorder._write(Path(work) / "pages", ring.layouts(formats), device, notes, Path(work) / "out", False)
        write_product(path, (Path(work) / "out").read_bytes())


def main() -> None:
    """Records the combinations that are not in the folder yet: `FOLDER [WORD…]`."""
    folder, words = Path(sys.argv[1]), sys.argv[2:]
    chosen = [
        combination
        for combination in combinations()
        if all(word in f"@{combination.name}@" for word in words) and not (folder / f"{combination.name}.swt").exists()
    ]
    for path in run(chosen, folder, lambda text: print(text, file=sys.stderr, flush=True)):
        print(path, flush=True)


if __name__ == "__main__":
    main()
