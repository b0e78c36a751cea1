# After a restart: udev, sysfsutils and the restore unit have set the values before anybody asked; udev does again when the drive is taken
# away and found anew; status tells drift; the guard judges a load on a served drive.
. /common.sh
sata=$(name $DISK)
say boot_scheduler "$(value "$sata" scheduler)"
say boot_read_ahead "$(value "$sata" read_ahead_kb)"
say boot_depth "$(cat "/sys/block/$sata/device/queue_depth")"
say boot_sysfs "$(value "$(name /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_NVME0001)" read_ahead_kb)"
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
# The guard, as a transient unit, under a load on a served drive: without a slowdown it keeps, with one after the change it rolls back.
modprobe nbd
seekwise drive "$MODEL" --attach --control /out/control > /out/drive 2>&1 &
served=$!
for wait in $(seq 300); do
    nbd=$(grep -o 'nbd[0-9]*' /out/drive | head -1); [ -n "$nbd" ] && [ "$(cat "/sys/block/$nbd/size")" != 0 ] && break; sleep 0.1
done
/usr/bin/fio --name=load --filename="/dev/$nbd" --rw=randread --bs=4k --direct=1 --ioengine=psync --time_based --runtime=1h --size=1g \
    --output=/dev/null &
load=$!
for case in plain slow; do
    say "guard_${case}_before" "$(value "$nbd" read_ahead_kb)"
    seekwise apply --device "/dev/$nbd" --set read_ahead_kb=64 --guard 30s --limit 50% > /out/guard-$case 2>&1 &
    guard=$!
    if [ $case = slow ]; then
        for wait in $(seq 600); do grep -qs 'watching after' /var/lib/seekwise/guard/*.json && break; sleep 0.1; done
        python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("/out/control"); s.sendall(b"0:slow=6\n"); print(s.recv(99))'
    fi
    wait $guard
    say "guard_${case}_status" $?
    say "guard_${case}_unit" "$(grep -c 'runs as unit seekwise-guard' /out/guard-$case)"
    say "guard_${case}_after" "$(value "$nbd" read_ahead_kb)"
    cat /out/guard-$case
    seekwise revert
    rm -f /var/lib/seekwise/guard/*.json
done
cat /out/drive
kill $load $served; wait
