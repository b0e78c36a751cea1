# Mounts what was installed; a drive that keeps its write cache off is one after this (QEMU's forgets it when it is switched off).
. /common.sh
modprobe -a virtio_pci virtio_blk ext4
appears /dev/vda
mount -t ext4 -o ro /dev/vda /opt/seekwise
if [ -e /cache-off ]; then
    appears "$OTHER"
    echo 'write through' > "$(cache "$OTHER")"
    say restore_found "$(cat "$(cache "$OTHER")")"
fi
