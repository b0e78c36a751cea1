# Sourced by each proof: mounts the repository where it is on the host, and says what it finds as `NAME=VALUE` on ttyS1.
mkdir -p "$REPOSITORY" /out
modprobe 9pnet_virtio; modprobe 9p
mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=262144 repository "$REPOSITORY"
# The guest's own Python (3.11, as the one that the environment was made for) with the libraries of the repository's environment.
export PYTHONDONTWRITEBYTECODE=1 HOME=/root PYTHONPATH="$REPOSITORY/python:$(echo "$REPOSITORY"/.venv/lib/python3.*/site-packages)"
seekwise() { python3 -m seekwise.cli.main "$@"; }
say() { echo "$1=$2" > /dev/ttyS1; }
value() { sed -e 's/.*\[\(.*\)\].*/\1/' "/sys/block/$1/queue/$2"; }
finish() { sync; say finished 1; systemctl poweroff --force --force; }
trap finish EXIT
udevadm settle
sata=$(basename "$(readlink -f /dev/disk/by-id/ata-PROOF_DISK_SATA0001)")
