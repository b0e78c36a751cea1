# Sourced by each script of the guest: what the scripts say goes to ttyS1 as `NAME=VALUE`.
export HOME=/root
DISK=/dev/disk/by-id/ata-PROOF_DISK_SATA0001
OTHER=/dev/disk/by-id/ata-PROOF_DISK_SATA0002
say() { echo "$1=$2" > /dev/ttyS1; }
name() { basename "$(readlink -f "$1")"; }
value() { sed -e 's/.*\[\(.*\)\].*/\1/' "/sys/block/$1/queue/$2"; }
cache() { echo /sys/block/"$(name "$1")"/device/scsi_disk/*/cache_type; }
appears() { for wait in $(seq 300); do [ -e "$1" ] && return; sleep 0.1; done; }
# Where the file that $1 holds says $2, whatever the width of the table.
tells() { tr -s ' \n' ' ' < "$1" | sed 's/- //g' | grep -c "$2"; }
NVME=/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_NVME0001
# The host plugs a second NVMe drive in when it reads this; the name of its disk is in $plugged then.
plug() {
    say plug nvme
    for wait in $(seq 300); do
        plugged=$(ls /sys/block | grep '^nvme' | grep -vx "$(name $NVME)") && break; sleep 0.1
    done
    udevadm settle
}
# Every file of the system with its mode, size, content and link target; what changes from boot to boot by itself is left out.
files() {
    find / -xdev \( -path /var/tmp -o -path /tmp -o -path /out -o -path /root -o -path /var/lib/seekwise -o -path /var/log -o -path /var/cache \
        -o -path /var/backups -o -regex '/[a-z]+\.sh' -o -path /cache-off -o -name package.service -o -name random-seed -o -name .updated \) -prune -o -printf '%y %m %s %p %l\n' |
        sed 's/^d \([0-7]*\) [0-9]*/d \1/' | sort
    find /etc -xdev -type f ! -name .updated -exec sha256sum {} + | sort
}
