"""Whether this machine is a guest: its disks are then scheduled a second time by the host."""

from __future__ import annotations

from seekwise.linux.tree import Tree

PRODUCTS = {
    # Words of the firmware's vendor and product strings (systemd 252 src/basic/virt.c has the same list for DMI).
    "KVM": "KVM", "OpenStack": "KVM", "Amazon EC2": "Amazon EC2", "QEMU": "KVM", "VMware": "VMware", "VMW": "VMware", "innotek GmbH": "VirtualBox",
    "VirtualBox": "VirtualBox", "Xen": "Xen", "Bochs": "Bochs", "Parallels": "Parallels", "BHYVE": "bhyve", "Hyper-V": "Hyper-V", "Virtual Machine": "Hyper-V",
    "Google Compute Engine": "Google Compute Engine", "Apple Virtualization": "Apple Virtualization", "DigitalOcean": "KVM", "Hetzner": "KVM",
}  # fmt: skip
DMI = ("product_name", "sys_vendor", "board_vendor", "bios_vendor", "product_version")


def hypervisor(tree: Tree) -> str | None:
    """The hypervisor below this machine (`KVM`, `VMware` …, or `a hypervisor`); None on bare metal or where nothing is
    known."""
    flags = next(
        (line for line in (tree.text("/proc/cpuinfo") or "")[:65_536].splitlines() if line.startswith("flags")), ""
    )
    is_guest = "hypervisor" in flags.split()
    for name in DMI:
        text = tree.word(f"/sys/class/dmi/id/{name}") or ""
        # Bare instances of clouds have the vendor's name, too; only the processor tells them from guests.
        if (hypervisor_name := next((what for word, what in PRODUCTS.items() if word in text), None)) and (
            is_guest or not flags
        ):
            return hypervisor_name
    if (kind := tree.word("/sys/hypervisor/type")) and is_guest:
        return kind.capitalize()[:40]
    return "a hypervisor" if is_guest else None


def knows(tree: Tree) -> bool:
    """Whether the tree holds what tells a guest from bare metal."""
    return any(
        tree.exists(path) for path in ("/proc/cpuinfo", "/sys/class/dmi/id/product_name", "/sys/hypervisor/type")
    )
