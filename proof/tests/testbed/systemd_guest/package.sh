# Mounts what was installed; a drive that keeps its write cache off is one after this (QEMU's forgets it when it is switched off).
. /common.sh
modprobe -a virtio_pci virtio_blk ext4
appears /dev/vda
mount -t ext4 -o ro /dev/vda /opt/seekwise
if [ -e /cache-off ]; then
    # systemd-modules-load has run; whoever writes the scheduler's name, and so loads the module as well, comes later.
    say boot_module "$(ls -d /sys/module/kyber_iosched 2>/dev/null | wc -l)"
    appears "$OTHER"
    echo 'write through' > "$(cache "$OTHER")"
    say restore_found "$(cat "$(cache "$OTHER")")"
fi
