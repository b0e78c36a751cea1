# Faults under real md: each case writes known bytes, lets something go wrong, and compares what the array gives back.
# The drives' faults come at times that are in their options: virtual time makes them hit the same request every run.
modules nbd raid1 raid456
dd if=/dev/urandom of=/tmp/known bs=1M count=12 2>/dev/null

until_uptime() { # SECONDS
	while [ "$(cut -d. -f1 /proc/uptime)" -lt "$1" ]; do sleep 0.1; done
}

attach_again() { # GROUP COUNT
	local number=0
	while [ $number -lt "$2" ]; do
		nbd-client -d "/dev/nbd$number" > /dev/null 2>&1 || true
		nbd-client -unix "/run/$1.$number" "/dev/nbd$number" -b 512 -t 30 > /dev/null 2>&1
		number=$((number + 1))
	done
}

# A drive of a RAID 5 drops out while the array is written: what was written before, during and after is all there.
serve dropped 3 0
T=$(cut -d. -f1 /proc/uptime)
mdadm --create /dev/md0 --run --quiet --level=5 --chunk=64 --raid-devices=3 --assume-clean --bitmap=none /dev/nbd0 /dev/nbd1 /dev/nbd2
dd if=/tmp/known of=/dev/md0 bs=256k oflag=direct count=8 2>/dev/null
# Again and again, so that the drive goes in the middle of a write.
while [ "$(cut -d. -f1 /proc/uptime)" -lt $((T + 4)) ]; do
	dd if=/tmp/known of=/dev/md0 bs=256k oflag=direct skip=8 seek=8 count=40 2>/dev/null
done
cat /proc/mdstat > /out/dropped.mdstat
echo 3 > /proc/sys/vm/drop_caches
cmp -n 12582912 /tmp/known /dev/md0 && echo same > /out/dropped
mdadm --stop --quiet /dev/md0
unserve dropped 3 0 /out/dropped.drives

# Sectors of one mirror cannot be read: md takes the other one and writes the sectors anew.
serve bad 2 0
T=$(cut -d. -f1 /proc/uptime)
mdadm --create /dev/md0 --run --quiet --level=1 --raid-devices=2 --assume-clean --bitmap=none --data-offset=1024 /dev/nbd0 /dev/nbd1
dd if=/tmp/known of=/dev/md0 bs=256k oflag=direct conv=fsync 2>/dev/null
until_uptime $((T + 6))
echo 3 > /proc/sys/vm/drop_caches
dd if=/dev/md0 of=/tmp/back bs=256k count=48 iflag=direct 2>/dev/null
cmp /tmp/known /tmp/back && echo same > /out/bad
cat /sys/block/md0/md/dev-nbd1/errors > /out/bad.errors
cat /proc/mdstat > /out/bad.mdstat
dd if=/dev/nbd1 of=/dev/null bs=64k skip=16 count=32 iflag=direct 2>/dev/null && echo readable > /out/bad.again
mdadm --stop --quiet /dev/md0
unserve bad 2 0 /out/bad.drives

# The supply of both mirrors fails: what was flushed is there, what was not is old or new, sector by sector.
serve cut 2 0
T=$(cut -d. -f1 /proc/uptime)
mdadm --create /dev/md0 --run --quiet --level=1 --raid-devices=2 --assume-clean --bitmap=none /dev/nbd0 /dev/nbd1
# md would mark the array clean a moment after the last write, and flush the drives' caches with that.
echo 60 > /sys/block/md0/md/safe_mode_delay
dd if=/tmp/known of=/dev/md0 bs=256k count=16 oflag=direct conv=fsync 2>/dev/null
dd if=/tmp/known of=/dev/md0 bs=4k skip=1024 seek=1024 count=64 oflag=direct 2>/dev/null
until_uptime $((T + 8))
mdadm --stop --quiet /dev/md0 || true
attach_again cut 2
mdadm --assemble --run --quiet /dev/md0 /dev/nbd0 /dev/nbd1
cat /proc/mdstat > /out/cut.mdstat
cmp -n 4194304 /tmp/known /dev/md0 && echo same > /out/cut
dd if=/dev/md0 of=/out/cut.found bs=4k skip=1024 count=64 iflag=direct 2>/dev/null
dd if=/tmp/known of=/out/cut.written bs=4k skip=1024 count=64 2>/dev/null
mdadm --stop --quiet /dev/md0
unserve cut 2 0 /out/cut.drives
