"""Files that name a setting and that no source here reads: who starts them is not known, but they are not passed over.

Looked through are the folders where an administrator's configuration and scripts lie, within the budget of `reading`.
"""

from __future__ import annotations

import re

from seekwise.linux.setters.reading import Reading

FOLDERS = (
    "/etc",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/etc",
    "/usr/local/lib",
    "/opt",
    "/root",
    "/data",
    "/share",
)
DEPTH = 4
MOST_FILES = 3_000
MOST_IN_A_FOLDER = 300
NAMED = 8
PASSED_OVER = re.compile(
    r"/etc/(?:ssl|pki|alternatives|selinux|fonts|apparmor|apparmor\.d|ca-certificates|java|R|texmf|brltty|X11|python3|perl|systemd/user|udev|sysctl|sysctl\.d)(?:/|$)"
    r"|\.(?:wants|requires)(?:/|$)|/(?:\.git|node_modules|__pycache__|site-packages|dist-packages|doc|man)(?:/|$)"
)
ASIDE = re.compile(
    r".*(?:~|\.(?:bak|old|orig|save|sample|example|disabled|swp|md|txt|html|rst|log|rpmsave|rpmnew|rpmorig|pacnew|pacsave|dpkg-\w+|ucf-\w+)|,v)"
)
"""Files that were put aside, and prose."""
SETS = re.compile(
    r"^(?![^\S\n]*[#;]).{0,300}?(?:"
    r"/sys/(?:class/)?block/\S{1,80}/(?:queue|md)/(?:scheduler|read_ahead_kb|nr_requests|nomerges|rq_affinity|wbt_lat_usec|stripe_cache_size)"
    r"|/sys/(?:class/)?block/\S{1,80}/device/queue_depth|blockdev\s.{0,20}--setra\s)",
    re.MULTILINE,
)


def look(reading: Reading) -> None:
    """Notes each file that names a setting and was not read, with its first such line."""
    known = {file for files in reading.files.values() for file in files} | {idle.file for idle in reading.ineffective}
    count = named = 0
    todo = [(folder, 0) for folder in reversed(FOLDERS)]
    passed: set[str | None] = set()
    while todo and count < MOST_FILES and named < NAMED:
        folder, depth = todo.pop()
        # A link may lead to a folder above itself.
        # Our own sources and tests hold such lines by the hundred, and none of them acts.
        if (place := reading.tree.resolve(folder)) in passed or reading.tree.is_folder(f"{folder}/python/seekwise"):
            continue
        passed.add(place)
        for name in reading.names(folder)[:MOST_IN_A_FOLDER]:
            path = f"{folder}/{name}"
            if path in known or PASSED_OVER.search(path) or ASIDE.fullmatch(name):
                continue
            if reading.tree.is_folder(path):
                todo += [(path, depth + 1)] if depth < DEPTH else []
                continue
            count += 1
            if match := SETS.search(reading.glance(path)):
                line = reading.glance(path).count("\n", 0, match.end()) + 1
                reading.leave_out(path, line, "names a setting, and what starts it is not known")
                named += 1
