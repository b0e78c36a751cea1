"""The machines that are captured from a running kernel: what qemu emulates, and what is set up on it.

A drive's model and serial are given to qemu by hand; everything else in a capture is what the kernel made of it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    name: str
    drives: tuple[str, ...]
    """Sizes of the image files, `{0}`, `{1}` … in `qemu`."""
    qemu: tuple[str, ...]
    script: str


def sata(count: int, model: str, firmware: str, *, serial: str = "Z1X0QEM", rotation: int = 7200) -> tuple[str, ...]:
    words: list[str] = ["-device", "ahci,id=ahci0"]
    for index in range(count):
        end = f"serial={serial}{index},rotation_rate={rotation}"
        words += ["-drive", f"file={{{index}}},if=none,id=d{index},format=raw,cache=unsafe,discard=unmap"]
        words += [
            "-device",
            f"ide-hd,drive=d{index},bus=ahci0.{index},model={model},ver={firmware},{end}",
        ]
    return tuple(words)


def scsi(count: int, controller: str, *, product: str, vendor: str = "QEMU", extra: str = "") -> tuple[str, ...]:
    words: list[str] = ["-device", f"{controller},id=scsi0"]
    for index in range(count):
        words += ["-drive", f"file={{{index}}},if=none,id=d{index},format=raw,cache=unsafe"]
        words += [
            "-device",
            f"scsi-hd,drive=d{index},bus=scsi0.0,scsi-id={index},vendor={vendor},product={product},serial=QM{index:05}{extra}",
        ]
    return tuple(words)


PARTED = 'printf "label: gpt\\n{parts}" | sfdisk -q {disk}; udevadm settle\n'
ROOT_ON = "/sbin/mke2fs -q -t ext4 -F -E lazy_itable_init=1,lazy_journal_init=1 {device}\nmount -t ext4 -o {options} {device} /m\n"


SHARED_UNIT = "vendor=NETAPP,product=LUN,serial=LUN0001,share-rw=on,wwn=0x600a098000aa0001"


def parted(disk: str, *sizes: str) -> str:
    return PARTED.format(disk=disk, parts="".join(f"size={size}\\n" if size else "size=+\\n" for size in sizes))


def ext4(device: str, options: str = "relatime") -> str:
    return ROOT_ON.format(device=device, options=options)


def ext4_at(device: str, folder: str, options: str = "relatime") -> str:
    return (
        f"/sbin/mke2fs -q -t ext4 -F -E lazy_itable_init=1,lazy_journal_init=1 {device}\nmkdir -p /m{folder}\n"
        f"mount -t ext4 -o {options} {device} /m{folder}\n"
    )


MACHINES = {
    machine.name: machine
    for machine in (
        Machine(
            "sata-ncq",
            ("1T",),
            sata(1, "ST1000NM0011", "SN03"),
            # Root, swap and data on one desktop disk, with NCQ on.
            parted("/dev/sda", "64G", "8G", "")
            + ext4("/dev/sda1", "relatime,errors=remount-ro")
            + "mkswap /dev/sda2\nswapon /dev/sda2\n"
            + ext4_at("/dev/sda3", "/srv/data set", "noatime").replace("/m/srv/data set", "'/m/srv/data set'"),
        ),
        Machine(
            "sata-ncq-off",
            ("500G", "500G"),
            sata(2, "WDC-WD5000AAKX", "15.01H15"),
            # The same drives with queue_depth written to 1 on the second, another scheduler and tunables on the first.
            parted("/dev/sda", "")
            + ext4("/dev/sda1")
            + ext4_at("/dev/sdb", "/backup")
            + "modprobe bfq\necho bfq > /sys/block/sda/queue/scheduler\necho 0 > /sys/block/sda/queue/iosched/low_latency\n"
            + "echo 1 > /sys/block/sdb/device/queue_depth\necho none > /sys/block/sdb/queue/scheduler\n"
            + "echo 4096 > /sys/block/sdb/queue/read_ahead_kb\n",
        ),
        Machine(
            "nvme",
            ("512G",),
            (
                "-drive",
                "file={0},if=none,id=d0,format=raw,cache=unsafe",
                "-device",
                "nvme,id=nvme0,serial=S4EVNX0QEMU,drive=d0",
            ),
            parted("/dev/nvme0n1", "1G", "") + ext4("/dev/nvme0n1p2") + ext4_at("/dev/nvme0n1p1", "/boot"),
        ),
        Machine(
            "nvme-multipath",
            ("256G", "1T"),
            (
                "-drive",
                "file={0},if=none,id=d0,format=raw,cache=unsafe",
                "-device",
                "nvme,serial=BOOTNVME01,drive=d0",
                "-drive",
                "file={1},if=none,id=d1,format=raw,cache=unsafe",
                # One subsystem, two controllers, one shared namespace: the kernel builds a head over two hidden paths.
                "-device",
                "nvme-subsys,id=sub0,nqn=shelf1",
                "-device",
                "nvme,id=ctrl0,serial=SHELF00001,subsys=sub0",
                "-device",
                "nvme,id=ctrl1,serial=SHELF00001,subsys=sub0",
                "-device",
                "nvme-ns,drive=d1,nsid=1,shared=on",
            ),
            parted("/dev/nvme0n1", "") + ext4("/dev/nvme0n1p1") + ext4_at("/dev/nvme1n1", "/srv"),
        ),
        Machine(
            "md-raid1",
            ("500G", "500G"),
            sata(2, "ST500NM0011", "SN02"),
            # The plain server: both disks partitioned alike, /boot and / on two mirrors.
            "modprobe raid1\n"
            + parted("/dev/sda", "1G", "")
            + parted("/dev/sdb", "1G", "")
            + "mdadm -C /dev/md0 -R -l1 -n2 -e 1.0 --assume-clean /dev/sda1 /dev/sdb1\n"
            + "mdadm -C /dev/md1 -R -l1 -n2 -e 1.2 --assume-clean --bitmap=internal /dev/sda2 /dev/sdb2\n"
            + ext4("/dev/md1")
            + ext4_at("/dev/md0", "/boot"),
        ),
        Machine(
            "md-raid5",
            ("120G", "2T", "2T", "2T", "2T"),
            sata(5, "ST2000NM0033", "SN04"),
            # Four disks, 64 KiB chunks, partitions on the array; the first synchronisation is running.
            "modprobe raid456\n"
            + ext4("/dev/sda")
            + "mdadm -C /dev/md0 -R -l5 -n4 -c64 --force /dev/sdb /dev/sdc /dev/sdd /dev/sde\n"
            + parted("/dev/md0", "1T", "")
            + ext4_at("/dev/md0p1", "/srv")
            + "echo 4096 > /sys/block/md0/md/stripe_cache_size\n",
        ),
        Machine(
            "md-raid10-degraded",
            ("64G", "1T", "1T", "1T", "1T"),
            scsi(5, "virtio-scsi-pci", product="HARDDISK"),
            # RAID 10 far 2 over four disks, one of them failed.
            "modprobe raid10\n"
            + ext4("/dev/sda")
            + "mdadm -C /dev/md127 -R -l10 -pf2 -n4 -c512 --assume-clean /dev/sdb /dev/sdc /dev/sdd /dev/sde\n"
            + ext4_at("/dev/md127", "/var/lib/postgresql")
            + "mdadm /dev/md127 -f /dev/sdd\nsleep 1\n",
        ),
        Machine(
            "lvm-crypt-md",
            ("1T", "1T"),
            sata(2, "CT1000MX500SSD1", "M3CR023", rotation=1),
            # Mirror, LUKS on it, a volume group on that: three logical volumes, one hyphen in a name.
            "modprobe raid1\nmodprobe dm_crypt\n"
            + parted("/dev/sda", "1G", "")
            + parted("/dev/sdb", "1G", "")
            + "mdadm -C /dev/md0 -R -l1 -n2 --assume-clean --bitmap=internal /dev/sda2 /dev/sdb2\n"
            + "printf secret > /key\n"
            + "cryptsetup -q luksFormat --type luks2 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 /dev/md0 /key\n"
            + "cryptsetup open --key-file /key /dev/md0 md0_crypt\n"
            + "pvcreate -y /dev/mapper/md0_crypt\nvgcreate vg0 /dev/mapper/md0_crypt\n"
            + "lvcreate -y -L 64G -n root vg0\nlvcreate -y -L 8G -n swap vg0\nlvcreate -y -L 300G -n srv-data vg0\n"
            + ext4("/dev/vg0/root")
            + "mkswap /dev/vg0/swap\nswapon /dev/vg0/swap\n"
            + ext4_at("/dev/vg0/srv-data", "/srv")
            + ext4_at("/dev/sda1", "/boot"),
        ),
        Machine(
            "multipath",
            ("64G", "2T"),
            (
                "-device",
                "virtio-scsi-pci,id=scsi0",
                "-device",
                "virtio-scsi-pci,id=scsi1",
                "-drive",
                "file={0},if=none,id=d0,format=raw,cache=unsafe",
                "-device",
                "virtio-blk-pci,drive=d0,serial=BOOT0001",
                "-drive",
                "file={1},if=none,id=d1,format=raw,cache=unsafe,file.locking=off",
                "-drive",
                "file={1},if=none,id=d2,format=raw,cache=unsafe,file.locking=off",
                # One unit seen over two hosts.
                "-device",
                f"scsi-hd,drive=d1,bus=scsi0.0,scsi-id=1,{SHARED_UNIT}",
                "-device",
                f"scsi-hd,drive=d2,bus=scsi1.0,scsi-id=1,{SHARED_UNIT}",
            ),
            # Debian's own default would be made by multipathd; the table is the one it loads.
            "modprobe dm_multipath\nmodprobe dm_round_robin || true\nmodprobe dm_service_time\n"
            + ext4("/dev/vda")
            + "sectors=$(cat /sys/block/sda/size)\n"
            + "a=$(cat /sys/block/sda/dev)\nb=$(cat /sys/block/sdb/dev)\n"
            + 'echo "0 $sectors multipath 0 0 1 1 service-time 0 2 1 $a 1 $b 1" | '
            + "dmsetup create mpatha --uuid mpath-3600a098000aa0001\n"
            + "udevadm settle\n"
            + ext4_at("/dev/mapper/mpatha", "/srv/san"),
        ),
        Machine(
            "virtio-vm",
            ("40G", "200G"),
            (
                "-drive",
                "file={0},if=none,id=d0,format=raw,cache=unsafe",
                "-device",
                "virtio-blk-pci,drive=d0",
                "-drive",
                "file={1},if=none,id=d1,format=raw,cache=unsafe",
                "-device",
                "virtio-blk-pci,drive=d1,serial=data-volume-01,write-cache=off,num-queues=4",
            ),
            parted("/dev/vda", "") + ext4("/dev/vda1", "relatime,discard") + ext4_at("/dev/vdb", "/data"),
        ),
        Machine(
            "megaraid",
            ("279G", "4T"),
            scsi(2, "megasas-gen2", product="MR9361-8i", vendor="AVAGO"),
            parted("/dev/sda", "") + ext4("/dev/sda1") + ext4_at("/dev/sdb", "/srv"),
        ),
        Machine(
            "loop-file",
            ("250G",),
            sata(1, "Samsung-SSD-860-EVO-250GB", "RVT04B6Q", serial="S3YJNX0QEM", rotation=1),
            # A loop on a file, one whose file was deleted, and one on a file on the first: a stack of two.
            parted("/dev/sda", "")
            + ext4("/dev/sda1")
            + "modprobe loop\nmkdir -p /m/images\n"
            # Attached inside the new root, so that the kernel's names of the files are the machine's own.
            + "for d in dev proc sys; do mkdir -p /m/$d; done\n"
            + "truncate -s 20G '/m/images/with space.img' /m/images/gone.img\n"
            + "losetup /dev/loop0 '/m/images/with space.img'\nlosetup /dev/loop1 /m/images/gone.img\nrm /m/images/gone.img\n"
            + ext4_at("/dev/loop0", "/mnt/loop")
            + "truncate -s 1G /m/mnt/loop/inner.img\nlosetup -o 1048576 /dev/loop2 /m/mnt/loop/inner.img\n"
            + ext4_at("/dev/loop2", "/mnt/inner"),
        ),
        Machine(
            "imsm",
            ("240G", "1T", "1T"),
            sata(3, "ST1000DM003", "CC52"),
            # mdadm writes Intel's metadata without asking for Intel's option ROM.
            "modprobe raid1\n"
            + ext4("/dev/sda")
            + "export IMSM_NO_PLATFORM=1\n"
            + "mdadm -C /dev/md127 -R -e imsm -n2 /dev/sdb /dev/sdc\nudevadm settle\n"
            + "mdadm -C /dev/md126 -R -l1 -n2 -z 100G --assume-clean /dev/md127\nsleep 2\nudevadm settle\n"
            + "cat /proc/mdstat\n"
            + ext4_at("/dev/md126", "/home"),
        ),
        Machine(
            "btrfs-two",
            ("64G", "1T", "1T"),
            sata(3, "TOSHIBA-DT01ACA100", "MS2OA750"),
            "modprobe btrfs\n"
            + ext4("/dev/sda")
            + "mkfs.btrfs -q -K -d raid1 -m raid1 /dev/sdb /dev/sdc\n"
            + "btrfs device scan\nmkdir -p /m/tank\nmount -t btrfs -o noatime,compress=zstd /dev/sdb /m/tank\n"
            + "btrfs subvolume create /m/tank/home\nmkdir -p /m/home\n"
            + "mount -t btrfs -o noatime,subvol=home /dev/sdb /m/home\n"
            # A bind mount of a folder of the first disk, and memory, for path resolution.
            + "mkdir -p /m/var/spool /m/exported /m/scratch\nmount --bind /m/var/spool /m/exported\n"
            + "mount -t tmpfs -o size=64m scratch /m/scratch\n",
        ),
        Machine(
            "bcache",
            ("2T", "120G", "60G"),
            sata(3, "HGST-HUS724020ALA640", "MF6OAA70"),
            "modprobe bcache\n"
            + ext4("/dev/sdc")
            + "make-bcache -B /dev/sda -C /dev/sdb --writeback\nudevadm settle\n"
            + "echo /dev/sda > /sys/fs/bcache/register || true\necho /dev/sdb > /sys/fs/bcache/register || true\nsleep 2\n"
            + ext4_at("/dev/bcache0", "/srv"),
        ),
        Machine(
            "usb-zram-null",
            ("32G", "64G"),
            (
                "-device",
                "qemu-xhci,id=xhci",
                "-drive",
                "file={0},if=none,id=d0,format=raw,cache=unsafe",
                "-device",
                "usb-storage,bus=xhci.0,drive=d0,serial=USB0001,removable=on",
                "-drive",
                "file={1},if=none,id=d1,format=raw,cache=unsafe",
                "-device",
                "virtio-blk-pci,drive=d1,logical_block_size=4096,physical_block_size=4096,serial=four-k-native",
            ),
            "modprobe zram num_devices=1\necho 512M > /sys/block/zram0/disksize\nmkswap /dev/zram0\nswapon /dev/zram0\n"
            "modprobe null_blk nr_devices=1 gb=4\nmodprobe nbd nbds_max=2\n"
            "modprobe scsi_debug dev_size_mb=64 add_host=1\nsleep 2\n"
            + ext4("/dev/vda")
            + parted("/dev/sda", "")
            + ext4_at("/dev/sda1", "/media/stick"),
        ),
    )
}
