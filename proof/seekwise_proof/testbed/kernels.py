"""Which kernels the VM testbed boots: Debian's packages, unmodified."""

from __future__ import annotations

from dataclasses import dataclass

from seekwise.errors import UsageError
from seekwise_proof.testbed.debian import Package


@dataclass(frozen=True)
class Kernel:
    series: str
    package: Package


KERNELS = {
    kernel.series: kernel
    for kernel in (
        Kernel(
            "5.10",
            Package(
                "debian/pool/main/l/linux-signed-amd64/linux-image-5.10.0-32-amd64_5.10.223-1_amd64.deb",
                "86a6792f3a03ab15a643f385830cdaa921f15e3e9c8bf63aa55a9243c62fc797",
                ("debian/dists/bullseye", "debian-security/dists/bullseye-security"),
                r"linux-image-5\.10\.\d+-\d+-amd64",
            ),
        ),
        Kernel(
            "6.1",
            Package(
                "debian-security/pool/updates/main/l/linux-signed-amd64/linux-image-6.1.0-56-amd64_6.1.192-2_amd64.deb",
                "a86e2049672f52354c4536a089203b6c82639420424d31c91cf31a181fd4d8f1",
                ("debian/dists/bookworm", "debian-security/dists/bookworm-security"),
                r"linux-image-6\.1\.\d+-\d+-amd64",
            ),
        ),
        Kernel(
            "6.12",
            Package(
                "debian/pool/main/l/linux-signed-amd64/linux-image-6.12.107+deb13-amd64_6.12.107-1_amd64.deb",
                "7794643cf4560de2a7e3b069e8ca8511ad2a568d652ea285f0fe051f79bc9e99",
                ("debian/dists/trixie", "debian-security/dists/trixie-security"),
                r"linux-image-6\.12\.\d+\+deb13-amd64",
            ),
        ),
    )
}
DEFAULT = "6.1"


def find(name: str | None) -> Kernel:
    """The kernel of that series; the default for None."""
    kernel = KERNELS.get(name or DEFAULT)
    if kernel is None:
        raise UsageError(
            f"the VM testbed has no kernel {name}",
            hint=f"kernels: {', '.join(KERNELS)}; older ones: `--backend simulated`",
        )
    return kernel
