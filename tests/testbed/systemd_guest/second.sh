# After a restart: udev has set the values before anybody asked; again when the drive is taken away and found anew; status tells drift.
. /common.sh
say boot_scheduler "$(value "$sata" scheduler)"
say boot_read_ahead "$(value "$sata" read_ahead_kb)"
say boot_depth "$(cat "/sys/block/$sata/device/queue_depth")"
seekwise status "/dev/$sata" > /out/status 2>&1
say boot_status $?
host=$(readlink -f "/sys/block/$sata/device" | sed 's/.*\/\(host[0-9]*\)\/.*/\1/')
echo 1 > "/sys/block/$sata/device/delete"
sleep 1
say gone "$(ls -d "/sys/block/$sata" 2>/dev/null | wc -l)"
echo '- - -' > "/sys/class/scsi_host/$host/scan"
sleep 2; udevadm settle
sata=$(basename "$(readlink -f /dev/disk/by-id/ata-PROOF_DISK_SATA0001)")
say hotplug_scheduler "$(value "$sata" scheduler)"
say hotplug_depth "$(cat "/sys/block/$sata/device/queue_depth")"
echo 'ACTION=="add|change", KERNEL=="sd[a-z]*", ATTR{queue/scheduler}="mq-deadline"' > /etc/udev/rules.d/99-later.rules
udevadm control --reload
udevadm trigger --action=add --settle "/sys/block/$sata"
say overridden "$(value "$sata" scheduler)"
seekwise status "/dev/$sata" > /out/drift 2>&1
say drift_status $?
say drift_names "$(tr -s ' \n' ' ' < /out/drift | grep -c 'udev rule /etc/udev/rules.d/99-later.rules:1')"
rm /etc/udev/rules.d/99-later.rules
udevadm control --reload
cat /out/status /out/drift
# The guard, as a transient unit, under a load on a served drive: without a slowdown it keeps, with one it rolls back.
modprobe nbd
for case in plain slow; do
    fault=""
    [ $case = slow ] && fault="--fault 0:slow=6@40s"
    seekwise drive "$DRIVE" --attach --control /out/control-$case $fault > /out/drive-$case 2>&1 &
    served=$!
    for wait in $(seq 100); do
        nbd=$(grep -o 'nbd[0-9]*' /out/drive-$case | head -1); [ -n "$nbd" ] && [ "$(cat "/sys/block/$nbd/size")" != 0 ] && break; sleep 0.2
    done
    fio --name=load --filename="/dev/$nbd" --rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth=2 --time_based --runtime=200 \
        --size=1g --output=/dev/null &
    load=$!
    say "guard_${case}_before" "$(value "$nbd" read_ahead_kb)"
    seekwise apply --device "/dev/$nbd" --set read_ahead_kb=64 --guard 60s --limit 30% > /out/guard-$case 2>&1
    say "guard_${case}_status" $?
    say "guard_${case}_unit" "$(grep -c 'runs as unit seekwise-guard' /out/guard-$case)"
    say "guard_${case}_after" "$(value "$nbd" read_ahead_kb)"
    cat /out/guard-$case /out/drive-$case
    kill $load; wait $load
    seekwise revert
    kill $served; wait $served
done
