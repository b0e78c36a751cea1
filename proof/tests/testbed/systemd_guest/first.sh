# Sets and persists; finds who would override; real udev judges the rules; what is to survive goes back to the host.
. /common.sh
udevadm settle
sata=$(name $DISK)
nvme=$(name $NVME)
say kernel "$(uname -r)"
say udev "$(udevadm --version)"
modprobe bfq
# Somebody else's rule and TuneD's profile with an elevator, as in CachyOS-Settings issue 228.
echo 'ACTION=="add|change", KERNEL=="sd[a-z]*", ATTR{queue/scheduler}="none"' > /etc/udev/rules.d/90-other.rules
seekwise apply --device "/dev/$sata" --set scheduler=bfq --persist udev > /out/refused 2>&1
say refused_status $?
say refused "$(tells /out/refused /etc/udev/rules.d/90-other.rules:1)"
say refused_left "$(value "$sata" scheduler)"
rm /etc/udev/rules.d/90-other.rules
mkdir -p /etc/tuned/elevator
printf '[disk]\nelevator=none\n' > /etc/tuned/elevator/tuned.conf
tuned-adm profile elevator
say tuned_sets "$(value "$sata" scheduler)"
seekwise status "/dev/$sata" > /out/status 2>&1
say status_names_tuned "$(tells /out/status 'TuneD profile /etc/tuned/elevator/tuned.conf:2')"
seekwise apply --device "/dev/$sata" --set scheduler=bfq --persist udev > /out/refused-tuned 2>&1
say refused_tuned_status $?
# Our own TuneD profile above a profile whose [disk] takes every disk: the real daemon must set our values.
seekwise apply --device "/dev/$sata" --set scheduler=mq-deadline --set read_ahead_kb=4096 --set nr_requests=32 --persist tuned > /out/tuned 2>&1
say tuned_status $?
for other in scheduler=none read_ahead_kb=128 nr_requests=64; do echo "${other#*=}" > "/sys/block/$sata/queue/${other%=*}"; done
tuned-adm profile seekwise
say tuned_active "$(cat /etc/tuned/active_profile)"
say tuned_scheduler "$(value "$sata" scheduler)"
say tuned_read_ahead "$(value "$sata" read_ahead_kb)"
say tuned_nr_requests "$(value "$sata" nr_requests)"
say tuned_other "$(value "$nvme" scheduler)"
seekwise revert > /out/revert 2>&1
say reverted "$(ls /etc/tuned/seekwise 2>/dev/null | wc -l)"
tuned-adm off
rm -r /etc/tuned/elevator
files > /out/before
# What the second boot has to find.
seekwise apply --device "/dev/$sata" --set scheduler=bfq --set read_ahead_kb=1024 --set queue_depth=8 --persist udev > /out/apply 2>&1
say apply_status $?
modprobe kyber-iosched
seekwise apply --device "/dev/$nvme" --set read_ahead_kb=512 --set scheduler=kyber --persist sysfs.conf --persist boot > /out/apply-sysfs.conf 2>&1
say apply_sysfs_status $?
# Another kind of drive with another answer, plugged in while the machine runs; it is away when the second boot starts.
plug
seekwise apply --device "/dev/$plugged" --set scheduler=mq-deadline --set read_ahead_kb=256 --set nr_requests=32 --persist udev > /out/apply-nvme 2>&1
say apply_nvme_status $?
for rules in /opt/seekwise/rules/*.rules; do
    udevadm verify "$rules" > /out/verify 2>&1 && good=$((good + 1)) || { bad=$((bad + 1)); cat /out/verify; }
done
say verified "${good:-0}"
say not_verified "${bad:-0}"
udevadm verify /etc/udev/rules.d/65-seekwise.rules; say own_verified $?
cp /opt/seekwise/units/* /usr/lib/systemd/system/
systemctl daemon-reload
{ systemctl enable seekwise-restore.service && systemctl enable --now seekwise-status.timer; } > /out/install 2>&1
say install_status $?
say timer "$(systemctl is-active seekwise-status.timer)"
systemd-analyze verify --man=no /usr/lib/systemd/system/seekwise-*.service /usr/lib/systemd/system/seekwise-*.timer > /out/verify-unit 2>&1
say own_complaints "$(grep -c seekwise /out/verify-unit)"
# A run that dies with the write cache off: its journal entry is all that is left.
python3 /crash.py "$(name $OTHER)"
say crashed "$?"
say crashed_cache "$(cat "$(cache $OTHER)")"
cd / && tail -n 30 /out/*
tar -czf - --ignore-failed-read etc/udev/rules.d/65-seekwise.rules etc/sysfs.conf etc/sysfs.d etc/modules-load.d/seekwise.conf etc/tuned/active_profile \
    etc/tuned/profile_mode usr/lib/systemd/system/seekwise-* etc/systemd/system/*.wants/seekwise-* var/lib/seekwise out/before |
    base64 -w0 > /out/kept
say kept "$(cat /out/kept)"
