"""Which host model stands above a system's drives."""

from __future__ import annotations

from seekwise.study.model import System

# The published machines that are described. The Hungarian page names none; its machine is of the same years. Of the page on NVMe, the
# older notebook has a Core i5 of 2012, for which there is no model: the nearest that there is stands for it.
OF_TEXTS = {
    "article-2008": "opteron_2212",
    "tiobench-comparison": "opteron_2212",
    "ssd-raid10-chunk": "i7_6700k",
    "ssd-raid10-gnome-disks": "i7_6700k",
    "nvme-page": "i7_6700k",
}
OF_SYSTEMS = {("nvme-page", "NVME"): "i7_1165g7"}


def of_system(study: str, system: System) -> str | None:
    """The system's own choice, else the published text's machine. `study`: its name."""
    stated = system.options.get("host")
    return OF_SYSTEMS.get((study, system.name), OF_TEXTS.get(study)) if stated is None else str(stated)
