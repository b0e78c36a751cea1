# After a restart: udev, sysfsutils and the restore unit have set the values before anybody asked; udev does again when the drive is taken
# away and found anew; status tells drift.
. /common.sh
sata=$(name $DISK)
say boot_scheduler "$(value "$sata" scheduler)"
say boot_read_ahead "$(value "$sata" read_ahead_kb)"
say boot_depth "$(cat "/sys/block/$sata/device/queue_depth")"
say boot_sysfs "$(value "$(name /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_NVME0001)" read_ahead_kb)"
say cycles "$(journalctl --no-pager -b -o cat | grep -c 'ordering cycle')"
say restore_unit "$(systemctl show --property=Result --value seekwise-restore.service)"
say restore_ran "$(systemctl show --property=ExecMainStatus --value seekwise-restore.service)"
say restored "$(cat "$(cache $OTHER)")"
journalctl --no-pager -b -u seekwise-restore.service -o cat
seekwise status "/dev/$sata" > /out/status 2>&1
say boot_status $?
host=$(readlink -f "/sys/block/$sata/device" | sed 's/.*\/\(host[0-9]*\)\/.*/\1/')
echo 1 > "/sys/block/$sata/device/delete"
udevadm settle
say gone "$(ls -d "/sys/block/$sata" 2>/dev/null | wc -l)"
echo '- - -' > "/sys/class/scsi_host/$host/scan"
appears $DISK; udevadm settle
sata=$(name $DISK)
say hotplug_scheduler "$(value "$sata" scheduler)"
say hotplug_read_ahead "$(value "$sata" read_ahead_kb)"
say hotplug_depth "$(cat "/sys/block/$sata/device/queue_depth")"
echo 'ACTION=="add|change", KERNEL=="sd[a-z]*", ATTR{queue/scheduler}="mq-deadline"' > /etc/udev/rules.d/99-later.rules
udevadm control --reload
udevadm trigger --action=add --settle "/sys/block/$sata"
say overridden "$(value "$sata" scheduler)"
seekwise status "/dev/$sata" > /out/drift 2>&1
say drift_status $?
say drift_names "$(tells /out/drift 'udev rule /etc/udev/rules.d/99-later.rules:1')"
rm /etc/udev/rules.d/99-later.rules
udevadm control --reload
cat /out/status /out/drift
