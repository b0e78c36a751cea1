# Sets and persists; finds who would override; real udev judges the rules; what is to survive goes back to the host.
. /common.sh
say kernel "$(uname -r)"
say udev "$(udevadm --version)"
say sata "$sata"
say before "$(value "$sata" scheduler)"
# Somebody else's rule and TuneD's profile with an elevator, as in CachyOS-Settings issue 228.
echo 'ACTION=="add|change", KERNEL=="sd[a-z]*", ATTR{queue/scheduler}="none"' > /etc/udev/rules.d/90-other.rules
seekwise apply --device "/dev/$sata" --set scheduler=bfq --persist udev > /out/refused 2>&1
say refused_status $?
say refused "$(grep -c '/etc/udev/rules.d/90-other.rules:1' /out/refused)"
rm /etc/udev/rules.d/90-other.rules
mkdir -p /etc/tuned/elevator
printf '[disk]\nelevator=none\n' > /etc/tuned/elevator/tuned.conf
tuned-adm profile elevator
sleep 2
say tuned_sets "$(value "$sata" scheduler)"
seekwise status "/dev/$sata" > /out/status 2>&1
say status_names_tuned "$(tr -s ' \n' ' ' < /out/status | grep -c 'TuneD profile /etc/tuned/elevator/tuned.conf:2')"
seekwise apply --device "/dev/$sata" --set scheduler=bfq --persist udev > /out/refused 2>&1
say refused_tuned_status $?
# Our own TuneD profile above a profile whose [disk] takes every disk: the real daemon must set our values.
seekwise apply --device "/dev/$sata" --set scheduler=mq-deadline --set read_ahead_kb=4096 --set nr_requests=32 --persist tuned > /out/tuned 2>&1
say tuned_status $?
tuned-adm profile seekwise
sleep 2
say tuned_scheduler "$(value "$sata" scheduler)"
say tuned_read_ahead "$(value "$sata" read_ahead_kb)"
say tuned_nr_requests "$(value "$sata" nr_requests)"
say tuned_other "$(value "$(basename "$(readlink -f /dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_NVME0001)")" scheduler)"
seekwise revert > /out/revert 2>&1
tuned-adm off
say reverted "$(ls /etc/tuned/seekwise 2>/dev/null | wc -l)"
seekwise apply --device "/dev/$sata" --set scheduler=bfq --set read_ahead_kb=1024 --set queue_depth=8 --persist udev > /out/apply 2>&1
say apply_status $?
for rules in "$REPOSITORY"/tests/advise/forms/*/udev; do
    grep -v '^# note' "$rules" > /out/check.rules
    udevadm verify /out/check.rules > /out/verify 2>&1 && good=$((good + 1)) || { bad=$((bad + 1)); cat /out/verify; }
done
say verified "${good:-0}"
say not_verified "${bad:-0}"
cat /out/refused /out/status /out/tuned /out/revert /out/apply
tar -C / -cf - etc/udev/rules.d/65-seekwise.rules var/lib/seekwise | base64 -w0 > /out/kept
say kept "$(cat /out/kept)"
