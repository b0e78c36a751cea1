#!/bin/busybox sh
# First process of the guest: makes a small Linux, runs the machine's own script, captures, sends the archive out.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
busybox mount -t devtmpfs dev /dev
busybox mkdir -p /run /tmp /m /dev/shm
busybox mount -t tmpfs tmpfs /run
busybox mkdir -p /run/lock /run/cryptsetup /run/lvm /run/mdadm /run/mount

/lib/systemd/systemd-udevd --daemon
udevadm trigger --type=subsystems --action=add
udevadm trigger --type=devices --action=add
udevadm settle --timeout=60

# The machine mounts its own root filesystem on /m, and everything else below it.
set -x
. /machine.sh
set +x
udevadm settle --timeout=60

for folder in proc sys dev run; do
    busybox mkdir -p /m/$folder
    busybox mount --bind /$folder /m/$folder
done
# The program is loaded first and then changes its root, so that mountinfo reads as on the machine itself.
busybox stty -F /dev/ttyS1 raw
/usr/bin/python3.11 -S /guest_capture.py && busybox cat /captured.tar.gz > /dev/ttyS1
busybox sync
busybox poweroff -f
