#!/bin/sh
# Builds the guest of test_systemd_guest.py below $1: Debian 12 with systemd and udev 254 from backports (udevadm verify) and TuneD.
# Needs mmdebstrap, cpio, root and a mirror of Debian (this machine's own, or SEEKWISE_DEBIAN). About five minutes; 450 MB for the whole root, 200 MB for what is booted.
set -e
folder=$1
mirror=${SEEKWISE_DEBIAN:+$SEEKWISE_DEBIAN/debian}
mirror=${mirror:-$("${0%/*}/../../../../tools/debian_mirror.sh")}
mkdir -p "$folder"
new=bookworm-backports
if ! [ -e "$folder/vmlinuz" ]; then
    rm -rf "$folder/root"
    mmdebstrap --variant=minbase --mode=root \
        --include=systemd/$new,systemd-sysv/$new,libpam-systemd/$new,udev/$new,libsystemd-shared/$new,libudev1/$new,libsystemd0/$new \
        --include=linux-image-amd64,python3,kmod,tuned,sysfsutils,dbus,mdadm,nbd-client,procps \
        bookworm "$folder/root" "deb $mirror bookworm main" "deb $mirror $new main"
    cp "$folder"/root/boot/vmlinuz-* "$folder/vmlinuz"
fi
# What is booted is unpacked into memory by an emulated processor: only what a machine with disks needs.
rm -rf "$folder/slim"
cp -al "$folder/root" "$folder/slim"
cd "$folder/slim"
rm -rf boot/* var/cache/apt var/lib/apt var/lib/dpkg usr/share/doc usr/share/man usr/share/locale usr/share/zoneinfo
rm -rf usr/lib/firmware usr/lib/apt usr/lib/udev/hwdb.d usr/share/perl usr/share/perl5
cd usr/lib/x86_64-linux-gnu && rm -rf perl gconv ceph librbd* librados*
cd "$folder"/slim/usr/lib/modules/*
find kernel -name '*.ko' | grep -vE '/(nvme|nvme-core|ahci|libahci|libata|s[dg]|s[dg]_mod|scsi_.*|t10-pi|crc.*|bfq|kyber-iosched|nbd|virtio.*|dm-mod|loop|ext4|jbd2|mbcache|autofs4|configfs|fuse)\.ko$' | xargs rm -f
cd "$folder/slim"
chroot . depmod "$(ls usr/lib/modules)"
ln -sf multi-user.target usr/lib/systemd/system/default.target
# Not asked here, and each costs seconds under emulation.
for unit in serial-getty@ttyS0 mdadm-shutdown e2scrub_reap systemd-binfmt systemd-journal-catalog-update; do
    ln -sf /dev/null etc/systemd/system/$unit.service
done
ln -sf /dev/null etc/systemd/system/proc-sys-fs-binfmt_misc.automount
echo guest > etc/hostname
: > etc/fstab
find . -print0 | cpio --null --create --format=newc --quiet > ../guest.cpio.new
rm -rf "$folder/slim"
mv ../guest.cpio.new ../guest.cpio
