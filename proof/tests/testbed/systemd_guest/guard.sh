# The guard, as a transient unit, under a load on a served drive: without a slowdown it keeps, with one after the change it rolls back.
. /common.sh
systemctl stop tuned
modprobe nbd
nbd=nbd0
printf '{"model": "%s", "sockets": ["/run/drive"], "control": "/run/control"}' "$MODEL" | /opt/seekwise/seekwise-drive > /out/drive 2>&1 &
served=$!
for wait in $(seq 300); do [ -s /out/drive ] && break; sleep 0.1; done
nbd-client -unix /run/drive "/dev/$nbd" -b 512
fio --name=load --filename="/dev/$nbd" --rw=randread --bs=4k --numjobs=2 --direct=1 --ioengine=psync --time_based --runtime=1h --size=1g \
    --eta=never --output=/dev/null &
load=$!
# $1: name of the case, $2: how long the guard watches.
guarded() {
    say "guard_$1_before" "$(value "$nbd" read_ahead_kb)"
    seekwise apply --device "/dev/$nbd" --set read_ahead_kb=64 --guard "$2" --limit 50% > "/out/guard-$1" 2>&1 &
    guard=$!
    if [ "$1" = slow ]; then
        until grep -qs 'watching after' /var/lib/seekwise/guard/*.json || ! kill -0 $guard; do sleep 0.1; done
        python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("/run/control"); s.sendall(b"0:slow=60\n"); print(s.recv(99))'
    fi
    wait $guard
    say "guard_$1_status" $?
    say "guard_$1_unit" "$(grep -c 'runs as unit seekwise-guard' "/out/guard-$1")"
    say "guard_$1_watched" "$(sed -n 's/.*"requests_watched": *\([0-9]*\).*/\1/p' /var/lib/seekwise/guard/*.json)"
    say "guard_$1_after" "$(value "$nbd" read_ahead_kb)"
    cat "/out/guard-$1"
}
guarded plain 30s
seekwise revert
rm /var/lib/seekwise/guard/*.json
# The slowdown must stand out of what emulation on a busy machine does to latencies by itself: the first look at it decides then.
guarded slow 120s
cat /out/drive
# The drive outlives its load: requests to one that is gone would never come back.
kill $load; wait $load
nbd-client -d "/dev/$nbd"
kill $served; wait
