"""systemd units: restore after a crash before anything mounts read-write on the device, and a weekly look for drift.

After a crash the kernel's own settings are gone with the restart; what a drive keeps itself (its write cache) is not. The service
runs before local-fs-pre.target; where the root file system is still read-only, it reads the journal through a copy in /run.
It must not come before systemd-remount-fs.service: udevd waits for that one (through systemd-sysusers and systemd-hwdb-update), we wait
for udevd, and systemd breaks such a cycle by not starting udevd at all.
"""

from __future__ import annotations

import shlex

RESTORE = "seekwise-restore.service"
STATUS = "seekwise-status.service"
TIMER = "seekwise-status.timer"
FOLDER = "usr/lib/systemd/system"


def files(command: list[str], state: str, weekly: bool) -> dict[str, str]:
    """{path below the root: text}; `command` is how seekwise is called, `state` its folder."""
    run = shlex.join(command)
    found = {
        f"{FOLDER}/{RESTORE}": f"""\
# Written by `seekwise system install`.
[Unit]
Description=Restore storage settings that a crashed seekwise left on the drives
Documentation=man:seekwise-system(8)
DefaultDependencies=no
After=systemd-udevd.service systemd-udev-settle.service
Wants=systemd-udev-settle.service
Before=local-fs-pre.target
Wants=local-fs-pre.target
Conflicts=shutdown.target
ConditionPathIsDirectory={state}/journal

[Service]
Type=oneshot
Environment=SEEKWISE_STATE={state}
ExecStart={run} system restore

[Install]
WantedBy=local-fs-pre.target
"""
    }
    if weekly:
        found[f"{FOLDER}/{STATUS}"] = f"""\
# Written by `seekwise system install --weekly-status`.
[Unit]
Description=Look whether storage settings are still what seekwise applied
Documentation=man:seekwise-status(8)

[Service]
Type=oneshot
Environment=SEEKWISE_STATE={state}
ExecStart={run} status
"""
        found[f"{FOLDER}/{TIMER}"] = """\
# Written by `seekwise system install --weekly-status`.
[Unit]
Description=Weekly look at storage settings

[Timer]
OnCalendar=weekly
Persistent=true
RandomizedDelaySec=1h

[Install]
WantedBy=timers.target
"""
    return found


def enabled_links(weekly: bool) -> dict[str, str]:
    """{link below the root: target}, what `systemctl enable` would make."""
    links = {f"etc/systemd/system/local-fs-pre.target.wants/{RESTORE}": f"/{FOLDER}/{RESTORE}"}
    if weekly:
        links[f"etc/systemd/system/timers.target.wants/{TIMER}"] = f"/{FOLDER}/{TIMER}"
    return links
