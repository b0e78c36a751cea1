"""Lines that build the systems of a study on real hardware: boot line, arrays, controllers, NCQ,
schedulers, file systems, what comes before each measurement, and the load as tiotest commands and fio job files. Text
for people: nothing here runs.

Device names are placeholders in capitals. What a study does not say (the partition, the controller's number) is left to
who types.
"""

from __future__ import annotations

from collections.abc import Sequence

from seekwise import controllers, schedulers
from seekwise.errors import UsageError
from seekwise.simulate.options import OF_PARITY
from seekwise.simulate.setups.setup import NotModelled
from seekwise.simulate.setups.trials import SINGLE_QUEUE_UNTIL, version
from seekwise.workload.study import profiles
from seekwise.workload.study.quantity import size_word
from seekwise.workload.study.study import Study, System, Workload

FIO_RW = {"seq_read": "read", "seq_write": "write", "rand_read": "randread", "rand_write": "randwrite"}
"""{operation: fio's `rw`}."""
LAYOUTS = {"raid10": ["--layout=n2"]}
NCQ_DEPTH = 31
MOUNT = "/mnt/test"
TIOTEST = "tiotest"
GNOME_DISKS = "gnome-disks"
TIOTEST_RANDOM_IOS = 1000


def lines(study: Study) -> list[str]:
    """Everything, section by section; a section's title is a comment."""
    setup: list[str] = []
    loads = [profiles.resolve(workload) for workload in study.workload]
    for system in study.system:
        setup += [f"# system {system.name}, as root", *_system(study, system, loads), ""]
    before = _before_each(study, loads)
    setup += ["# before each measurement", *before, ""] if before else []
    for given, resolved in zip(study.workload, loads, strict=True):
        if given.profile == TIOTEST:
            setup += [f"# load {resolved.name or TIOTEST}, with tiotest itself", *tiotest(resolved), ""]
        if given.program == GNOME_DISKS:
            setup += [f"# load {resolved.name or GNOME_DISKS}, with gnome-disks itself", *gnome_disks(resolved), ""]
        elif resolved.operations:
            setup += [f"# load {resolved.name or given.profile or 'load'}, as a fio job file", *fio_job(resolved), ""]
    return setup[:-1]


def _system(study: Study, system: System, loads: Sequence[Workload]) -> list[str]:
    names = [str(name) for name in study.settings.get("scheduler", [])]
    found = [*_boot(study, system, names)]
    if system.controller is not None:
        found.append(f"tw_cli /c0/u0 set qpolicy={system.options.get('ncq', 'on')}")
        found.append("tw_cli /c0/p0 show NCQ")
    elif system.raid_level is not None:
        chunks = system.chunk_kib or [chunk for chunk in study.settings.get("chunk_kib", []) if isinstance(chunk, int)]
        found += [create(system, chunk) for chunk in chunks] or [create(system, None)]
        tuned = [name for name in OF_PARITY if name in system.options]
        found += [f"echo {system.options[name]} > /sys/block/md0/md/{name}" for name in tuned]
    members = ["DEVICE"] if system.controller is not None or system.drives == 1 else _devices(system)
    if system.controller is None and "ncq" in system.options:
        depth = NCQ_DEPTH if system.options["ncq"] in (True, "on") else 1
        found.append("dmesg | grep NCQ")
        found += [f"echo {depth} > /sys/block/{name}/device/queue_depth" for name in members]
    known = [schedulers.registry().get(name) for name in names]
    # Loadable modules in distributions' kernels.
    modules = [found.module for found in known if found is not None and found.module and found.loaded_by_testbed]
    found += [f"echo {name} > /etc/modules-load.d/{name}.conf && modprobe {name}" for name in modules]
    if names:
        found += [f"echo {names[0]} > /sys/block/{name}/queue/scheduler" for name in members]
        # A scheduler belongs to each drive below an array: a line for every member.
        found += [f"# sysfs.conf: block/{name}/queue/scheduler = {names[0]}" for name in members]
    return [*found, *_file_system(system, members, loads)]


def _file_system(system: System, members: Sequence[str], loads: Sequence[Workload]) -> list[str]:
    """Partition, logical volume, file system, mount point; nothing where the load goes to the bare device."""
    device = "/dev/md0" if system.raid_level is not None and system.controller is None else f"/dev/{members[0]}"
    kind = system.options.get("filesystem") or ("ext4" if system.options.get("volume") == "lvm_ext4" else None)
    commands = []
    size = system.options.get("partition_gib")
    if size is not None and system.drives == 1:
        commands.append(f"parted -s {device} mklabel gpt mkpart test 1MiB {size}GiB")
        device = f"{device}1"
    if system.options.get("volume") == "lvm_ext4":
        extent = f"--size {size}G" if size is not None else "--extents 100%FREE"
        commands += [f"pvcreate {device}", f"vgcreate test {device}", f"lvcreate {extent} --name test test"]
        device = "/dev/test/test"
    if kind is not None or any(not load.direct for load in loads):
        kind = kind or "ext4"
        commands += [f"mkfs.{kind} {device}", f"mount {device} {MOUNT}"]
    return commands


def _before_each(study: Study, loads: Sequence[Workload]) -> list[str]:
    commands = ["sync; echo 3 > /proc/sys/vm/drop_caches"] if any(not load.direct for load in loads) else []
    commands += [f"fstrim -v {MOUNT}"] if study.design.trim else []
    return [*commands, f"sleep {study.design.wait:g}"] if study.design.wait else commands


def tiotest(workload: Workload) -> list[str]:
    """A command for each thread count: file size in MB for each thread, random requests of each thread (tiotest.c,
    mkuoppal/tiobench)."""
    size_mb = max(1, round(workload.size / 2**20))
    words = f"-f {size_mb} -b {workload.block_bytes[0]} -r {workload.random_ios or TIOTEST_RANDOM_IOS} -d {MOUNT}"
    return [f"tiotest -t {threads} {words}" for threads in workload.threads]


def gnome_disks(workload: Workload) -> list[str]:
    """It has windows and no command line: what to choose there, and where its results lie."""
    sizes = ", ".join(size_word(block) for block in workload.block_bytes)
    writes = "on" if "seq_write" in workload.operations else "off"
    return [
        f"# gnome-disks: choose the volume, Benchmark Partition, sample size {sizes}, write-benchmark {writes} (it destroys nothing)",
        "seekwise import ~/.cache/gnome-disks/benchmarks/*",
    ]


def _devices(system: System) -> list[str]:
    return [f"DEVICE{number}" for number in range(1, system.drives + 1)]


def create(system: System, chunk_kib: int | None) -> str:
    """The `mdadm --create` of an array. It destroys what the members hold."""
    level = system.raid_level or "raid0"
    words = ["mdadm", "--create", "--verbose", "/dev/md0", f"--level={level}"]
    bits = system.options.get("bitmap_chunk_kib")
    words.append(f"--bitmap={system.options.get('bitmap', 'none')}".replace("-1g", " --bitmap-chunk=1G"))
    words += [f"--bitmap-chunk={bits}K"] if bits else []
    words += [f"--chunk={chunk_kib}"] if chunk_kib is not None and level != "raid1" else []
    words += LAYOUTS.get(level, [])
    return " ".join([*words, f"--raid-devices={system.drives}", *(f"/dev/{name}" for name in _devices(system))])


def _boot(study: Study, system: System, names: Sequence[str]) -> list[str]:
    memory = next((w.memory_limit[0] for w in map(profiles.resolve, study.workload) if w.memory_limit), None)
    words = ["single", f"mem={size_word(memory).upper()}"] if memory else []
    try:
        old = system.kernel is not None and version(system.kernel) < SINGLE_QUEUE_UNTIL
    except NotModelled:
        old = False
    if old and names:
        words.append(f"elevator={names[0]}")
    return [f"# GRUB, kernel {system.kernel or 'of the machine'}: … ro {' '.join(words)}"] if words else []


def fio_job(workload: Workload) -> list[str]:
    """A job file with a global section and a section for each operation, at the first thread count and request size."""
    if not workload.operations:
        raise UsageError("a load without operations has no job file")
    # A share of the device, for every thread the same: fio's regions are then all of it.
    size = f"{100 * workload.reach:g}%" if workload.reach else size_word(workload.size)
    job = ["[global]", f"size={size}", f"direct={int(workload.direct)}"]
    job += [f"bs={size_word(workload.block_bytes[0])}", f"ioengine={workload.engine or 'psync'}"]
    job += [f"iodepth={workload.iodepth[0]}"] if workload.iodepth[0] > 1 else []
    job += ["sync=1"] if workload.sync else []
    job += [f"runtime={workload.runtime:g}", "time_based=1"] if workload.runtime else []
    for operation in workload.operations:
        job += ["", f"[{operation.replace('_', '-')}]", "stonewall", f"rw={FIO_RW[operation]}"]
        job.append(f"numjobs={workload.threads[0]}")
    return job


def controller_lines(system: System) -> tuple[str, ...]:
    """What is known of a system's controller: bus, driver, memory, firmware, mode."""
    if system.controller is None:
        return ()
    known = controllers.model_of(system.controller)
    if known is None:
        return ()
    facts = ", ".join(f"{name} {fact['value']}" for name, fact in known["facts"].items())
    return (f"  controller {known['name']}: {facts}",)
