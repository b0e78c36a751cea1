"""Which release of kernel.org a running kernel is made from: what is known of faults is known of those.

A distribution that moves newer code under an old number (RHEL, SUSE, Oracle) cannot be judged by it: then nothing is
known, neither that a fault is there nor that it is not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from seekwise.linux.facts import kernel_version


@dataclass(frozen=True)
class KernelBase:
    """`version` None: nobody can tell from the number; `release`: what the kernel calls itself."""

    release: str
    version: tuple[int, ...] | None

    @property
    def name(self) -> str:
        """`6.16.7`; of a distribution's kernel also what it calls itself."""
        if self.version is None:
            return self.release
        known = ".".join(map(str, self.version))
        return known if self.release.startswith(known) else f"{known} ({self.release})"


EXACT = re.compile(
    r"(\d+\.\d+(?:\.\d+)?)(?:-rc\d+)?(?:-\d+\.fc\d+(?:\.\w+)?|-arch\d+(?:-\d+)?|-gentoo|-microsoft-standard\S*)?"
)
"""Of kernel.org, and of distributions that ship its releases as they are."""
UBUNTU_MAINLINE = re.compile(r"(\d+)\.(\d+)\.(\d+)-(\d\d)(\d\d)(\d\d)(?:rc\d+)?-generic")


def base_of(release: str, version_text: str = "", signature: str = "") -> KernelBase:
    """From `uname -r`, /proc/version and Ubuntu's /proc/version_signature."""
    if re.search(r"\.el\d|uek|amzn", release):
        return KernelBase(release, None)
    # Debian: `#1 SMP PREEMPT_DYNAMIC Debian 6.12.57-1 (2025-11-05)`; Ubuntu: `Ubuntu 6.8.0-88.89-generic 6.8.12`.
    debian = re.search(r"\bDebian (\d+\.\d+\.\d+)-\d", version_text)
    ubuntu = re.fullmatch(r"Ubuntu \S+ (\d+\.\d+\.\d+)", signature.strip())
    if found := debian or ubuntu or EXACT.fullmatch(release):
        return KernelBase(release, _padded(found[1]))
    built = UBUNTU_MAINLINE.fullmatch(release)
    if built and [int(part) for part in built.groups()[:3]] == [int(part) for part in built.groups()[3:]]:
        return KernelBase(release, _padded(release))
    return KernelBase(release, None)


def _padded(text: str) -> tuple[int, ...]:
    return (*kernel_version(text), 0, 0)[:3]


def read(root: Path = Path("/")) -> KernelBase:
    """Of the machine below this root."""

    def text(name: str) -> str:
        try:
            return (root / "proc" / name).read_text(errors="replace").strip()
        except OSError:
            return ""

    return base_of(text("sys/kernel/osrelease"), text("version"), text("version_signature"))
