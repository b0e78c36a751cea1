"""NVMe: `/sys/block/nvmeXnY` and its controller.

With native multipathing the namespace `nvme0n1` is a head without a scheduler of its own that hands bios to hidden
paths, `nvme0c0n1` (subsystem 0, controller 0, namespace 1); each path has the queue whose settings count
(drivers/nvme/host/multipath.c, since 4.15). A head's `device` is the subsystem, a path's the controller.
"""

from __future__ import annotations

import re

from seekwise.linux import sysfs
from seekwise.linux.pci import pci_facts
from seekwise.linux.sysfs import Node
from seekwise.linux.tree import Tree

NAMESPACE = re.compile(r"nvme(\d+)n(\d+)")
PATH = re.compile(r"nvme(\d+)c(\d+)n(\d+)")


def read(tree: Tree, node: Node) -> dict[str, object] | None:
    """An NVMe namespace, or one path of a namespace under native multipath; None for a device of another kind. Facts as
    `BlockDevice` takes them."""
    head, path = NAMESPACE.fullmatch(node.name), PATH.fullmatch(node.name)
    if node.disk or not (head or path):
        return None
    hardware = sysfs.hardware_path(tree, node) or node.path("device")
    details: dict[str, object] = {}
    below: tuple[str, ...] = ()
    if head:
        below = tuple(
            name
            for name in tree.names("/sys/block")
            if (match := PATH.fullmatch(name)) and (match[1], match[3]) == (head[1], head[2])
        )
    if below:
        details["native_multipath"] = True
        details["subsystem_nqn"] = tree.word(f"{hardware}/subsysnqn")
        details["path_policy"] = tree.word(f"{hardware}/iopolicy")
    controller = controller_of(tree, hardware)
    if path:
        details["hidden_path"] = True
        details["ana_state"] = tree.word(node.path("ana_state"))
    details["namespace"] = tree.number(node.path("nsid"))
    details["wwid"] = tree.word(node.path("wwid")) or tree.word(node.path("uuid"))
    driver = None
    if controller:
        details["controller"] = controller.rpartition("/")[2]
        details["controller_state"] = tree.word(f"{controller}/state")
        details["address"] = tree.word(f"{controller}/address")
        # The controller's queue count includes the admin queue.
        queues = tree.number(f"{controller}/queue_count")
        details["io_queue_count"] = queues - 1 if queues else None
        size = tree.number(f"{controller}/sqsize")
        # sqsize counts from zero, as the field in the controller's registers does.
        details["queue_entries"] = None if size is None else size + 1
        details.update(pci_facts(tree, controller))
        if above := sysfs.driver_above(tree, controller):
            driver = above[0]

    def first(name: str) -> str | None:
        # The head's subsystem repeats model, serial and firmware since 4.15; before, the controller alone has them.
        return tree.word(f"{hardware}/{name}") or (tree.word(f"{controller}/{name}") if controller else None)

    transport = tree.word(f"{controller}/transport") if controller else None
    return {
        "kind": "nvme",
        "below": below,
        "driver": driver or "nvme",
        "transport": f"nvme-{transport}" if transport and transport != "pcie" else "nvme",
        "model": first("model"),
        "serial": first("serial"),
        "firmware": first("firmware_rev"),
        "details": {key: value for key, value in details.items() if value is not None},
    }


def controller_of(tree: Tree, hardware: str) -> str | None:
    """The folder of the controller: the device itself, or the first one below a subsystem."""
    if tree.exists(f"{hardware}/subsysnqn") and not tree.exists(f"{hardware}/cntlid"):
        for name in tree.names(hardware):
            if re.fullmatch(r"nvme\d+", name) and (folder := tree.resolve(f"{hardware}/{name}")):
                return folder
    if tree.is_folder(hardware):
        # Before 4.4 (no class device on the way) `device` was the PCI device itself, with the controller below.
        for name in tree.names(f"{hardware}/nvme"):
            return tree.resolve(f"{hardware}/nvme/{name}")
        return hardware
    return None
