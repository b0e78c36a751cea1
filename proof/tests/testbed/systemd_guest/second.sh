# After a restart: udev, sysfsutils and the restore unit have set the values before anybody asked; udev does again when the drive is taken
# away and found anew; status tells drift.
. /common.sh
sata=$(name $DISK)
say boot_scheduler "$(value "$sata" scheduler)"
say boot_read_ahead "$(value "$sata" read_ahead_kb)"
say boot_depth "$(cat "/sys/block/$sata/device/queue_depth")"
nvme=$(name $NVME)
say boot_sysfs "$(value "$nvme" read_ahead_kb) $(value "$nvme" scheduler)"
journalctl --no-pager -b -u systemd-modules-load.service -o cat
say cycles "$(journalctl --no-pager -b -o cat | grep -c 'ordering cycle')"
say restore_unit "$(systemctl show --property=Result --value seekwise-restore.service)"
say restore_ran "$(systemctl show --property=ExecMainStatus --value seekwise-restore.service)"
say restored "$(cat "$(cache $OTHER)"), $(value "$(name $OTHER)" write_cache)"
journalctl --no-pager -b -u seekwise-restore.service -o cat
plug
say plugged "$(value "$plugged" scheduler) $(value "$plugged" read_ahead_kb) $(value "$plugged" nr_requests)"
grep serial /run/udev/data/b259:* -i; cat /etc/udev/rules.d/65-seekwise.rules
# A week later: the timer looks for drift, and finds none.
said() { journalctl --no-pager -b -u seekwise-status.service -o cat; }
ended() { systemctl show --property=ExecMainStatus --property=ExecMainExitTimestampMonotonic --value seekwise-status.service | tr '\n' ' '; }
say timer "$(systemctl is-active seekwise-status.timer)"
before=$(ended)
mkdir /run/systemd/system/seekwise-status.timer.d
printf '[Timer]\nRandomizedDelaySec=0\n' > /run/systemd/system/seekwise-status.timer.d/at-once.conf
systemctl daemon-reload
date -s '+8 days' > /dev/null
for wait in $(seq 60); do sleep 1; [ "$(ended)" != "$before" ] && [ "$(systemctl is-active seekwise-status.service)" = inactive ] && break; done
systemctl list-timers --all --no-pager seekwise-status.timer; date
say timer_after "$(ended)"
rm -r /run/systemd/system/seekwise-status.timer.d
said > /out/status
say no_drift "$(tells /out/status 'No drift')"
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
# The same service fails where there is drift, and says who has set it.
systemctl start seekwise-status.service
say drift_status "$(systemctl show --property=ExecMainStatus --value seekwise-status.service)"
say drift_unit "$(systemctl is-failed seekwise-status.service)"
said > /out/drift
say drift_names "$(tells /out/drift 'udev rule /etc/udev/rules.d/99-later.rules:1')"
rm /etc/udev/rules.d/99-later.rules
udevadm control --reload
# Values that our rule has set at the start are restored together with the rule, and nothing of seekwise is left.
seekwise revert > /out/revert 2>&1
say reverted "$? $(value "$sata" read_ahead_kb) $(cat "/sys/block/$sata/device/queue_depth")"
# As the package's `postrm` does.
systemctl disable --now seekwise-restore.service seekwise-status.timer > /out/uninstall 2>&1
say uninstalled $?
rm /usr/lib/systemd/system/seekwise-* /var/lib/systemd/timers/stamp-seekwise-status.timer
systemctl daemon-reload
systemctl reset-failed
files > /out/after
diff /out/before /out/after > /out/trace
say trace "$(wc -l < /out/trace)"
# The guest's own package.service names one of ours, and systemd lists such a name as not found and dead.
systemctl list-units --all 'seekwise-*' --no-legend --no-pager | grep -v 'not-found *inactive dead' > /out/units
say units_left "$(wc -l < /out/units)"
cat /out/units /out/status /out/drift /out/revert /out/uninstall /out/trace
