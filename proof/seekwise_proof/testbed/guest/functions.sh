# What the guest's scripts are made of.

modules() { # NAME…: loads kernel modules; /lab/modules/NAME.order lists what each needs, in order
	local name part
	for name in "$@"; do
		for part in $(cat "/lab/modules/$name.order"); do
			[ -d "/sys/module/$part" ] || insmod "/lab/modules/$part.ko" $(eval echo "\$OPTIONS_$part")
		done
	done
}

# `-t 30`: a drive that vanishes owes answers, and without a limit the nbd driver waits for them for ever.
serve() { # GROUP COUNT FIRST: serves drives by /cell/GROUP.json as nbdFIRST…; ahead of the load, as a drive has a processor of its own
	local number=0
	chrt -f 50 seekwise-drive < "/cell/$1.json" > "/run/$1.report" 2> "/run/$1.said" &
	eval "SERVER_$1=$!"
	until [ -s "/run/$1.report" ]; do
		kill -0 $! 2>/dev/null || { cat "/run/$1.said"; return 1; }
		sleep 0.01
	done
	while [ $number -lt "$2" ]; do
		chrt -f 50 nbd-client -unix "/run/$1.$number" "/dev/nbd$(($3 + number))" -b 512 -t 30 > /run/nbd.said 2>&1 || { cat /run/nbd.said; return 1; }
		number=$((number + 1))
	done
}

unserve() { # GROUP COUNT FIRST OUT: takes the drives away; the server's report goes to OUT
	local number=0 server
	while [ $number -lt "$2" ]; do
		nbd-client -d "/dev/nbd$(($3 + number))" > /dev/null 2>&1
		number=$((number + 1))
	done
	eval "server=\$SERVER_$1"
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	cp "/run/$1.report" "$4" && cat "/run/$1.said" >&2
	rm -f "/run/$1".*
}

put() { # VALUE FILE: writes a setting and says which one failed
	echo "$1" > "$2" || { echo "cannot write '$1' to $2"; return 1; }
}

seen() { # DEVICE…: settings in force, a line each
	local device file
	for device in "$@"; do
		for file in scheduler nr_requests read_ahead_kb max_sectors_kb nomerges rotational wbt_lat_usec write_cache rq_affinity; do
			[ -r "/sys/block/$device/queue/$file" ] && echo "$device queue/$file $(cat "/sys/block/$device/queue/$file" 2>/dev/null)"
		done
		for file in "/sys/block/$device/queue/iosched/"*; do
			[ -r "$file" ] && echo "$device queue/iosched/${file##*/} $(cat "$file" 2>/dev/null)"
		done
		for file in chunk_size layout level stripe_cache_size array_state; do
			[ -r "/sys/block/$device/md/$file" ] && echo "$device md/$file $(cat "/sys/block/$device/md/$file" 2>/dev/null)"
		done
	done
	return 0
}

counted() { # OUT: what the system's counters say
	cat /proc/uptime /proc/stat /proc/diskstats > "$1"
}

grouped() { # CONTROLLER COMMAND…: runs a command in a cgroup of its own with that controller
	local controller=$1
	shift
	if [ ! -d /run/cgroup ]; then
		mkdir /run/cgroup
		mount -t cgroup2 none /run/cgroup
	fi
	echo "+$controller" > /run/cgroup/cgroup.subtree_control
	mkdir -p /run/cgroup/load
	[ "$controller" != memory ] || echo "$LIMIT" > /run/cgroup/load/memory.max
	sh -c 'echo $$ > /run/cgroup/load/cgroup.procs; exec "$@"' grouped "$@"
}

limited() { # BYTES COMMAND…: runs a command in at most so much memory, page cache included
	LIMIT=$1
	shift
	grouped memory "$@"
}
