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
