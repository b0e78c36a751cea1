"""Which package a file belongs to: dpkg's lists as files, else `rpm -qf` on the running machine."""

from __future__ import annotations

import shutil
import subprocess

from seekwise.linux.tree import Tree

DPKG = "/var/lib/dpkg/info"
RPM_TIMEOUT_S = 10


def owner(tree: Tree, file: str) -> str | None:
    """The package's name; None for a file that nobody ships or where there is no database."""
    # On merged-/usr systems old lists name /lib/udev where the file is read from /usr/lib/udev.
    names = {file, file.removeprefix("/usr") if file.startswith("/usr/lib/") else file, f"/usr{file}"}
    for name in tree.names(DPKG):
        if name.endswith(".list") and (content := tree.bytes(f"{DPKG}/{name}")):
            lines = content.decode("utf-8", "replace")
            if any(f"\n{installed}\n" in f"\n{lines}" for installed in names):
                return name.removesuffix(".list").partition(":")[0]
    if tree.live and (rpm := shutil.which("rpm")):
        try:
            done = subprocess.run(
                [rpm, "-qf", "--qf", "%{NAME}", file],
                capture_output=True,
                text=True,
                timeout=RPM_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() or None if done.returncode == 0 else None
    return None
