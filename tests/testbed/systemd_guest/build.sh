#!/bin/sh
# Builds the guest of test_systemd_guest.py below $1: Debian 12 with systemd and udev 254 from backports (udevadm verify), TuneD, fio.
# Needs mmdebstrap, cpio, root and Debian's mirror. About three minutes and 900 MB.
set -e
folder=$1
mirror=${SEEKWISE_DEBIAN:-http://deb.debian.org}/debian
mkdir -p "$folder"
rm -rf "$folder/root"
new=bookworm-backports
mmdebstrap --variant=minbase --mode=root \
    --include=systemd/$new,systemd-sysv/$new,libpam-systemd/$new,udev/$new,libsystemd-shared/$new,libudev1/$new,libsystemd0/$new \
    --include=linux-image-amd64,python3,kmod,tuned,sysfsutils,dbus,mdadm,fio,nbd-client,procps \
    bookworm "$folder/root" "deb $mirror bookworm main" "deb $mirror $new main"
cd "$folder/root"
cp boot/vmlinuz-* ../vmlinuz
rm -rf boot/* var/cache/apt usr/share/doc usr/share/man usr/share/locale usr/lib/firmware
# Only what a machine with disks needs.
cd lib/modules/*/kernel
rm -rf sound drivers/gpu drivers/media drivers/net/wireless drivers/net/ethernet drivers/infiniband drivers/staging drivers/iio net/wireless
rm -rf drivers/isdn drivers/hid drivers/input drivers/usb fs/ocfs2 fs/xfs fs/btrfs fs/ceph fs/nfs fs/nfsd fs/smb fs/cifs
cd "$folder/root"
chroot . depmod "$(ls lib/modules)"
ln -sf multi-user.target usr/lib/systemd/system/default.target
ln -s /dev/null etc/systemd/system/serial-getty@ttyS0.service
ln -s /dev/null etc/systemd/system/mdadm-shutdown.service
echo guest > etc/hostname
: > etc/fstab
find . -print0 | cpio --null --create --format=newc --quiet > ../root.cpio
