"""Which host model stands above a system's drives."""

from __future__ import annotations

from seekwise.study.model import System

# The texts' machines that are described. The Hungarian page names none; its machine is of the same years.
OF_TEXTS = {"article-2008": "opteron_2212", "tiobench-comparison": "opteron_2212"}


def of_system(study: str, system: System) -> str | None:
    """The system's own choice, else the published text's machine. `study`: its name."""
    stated = system.options.get("host")
    return OF_TEXTS.get(study) if stated is None else str(stated)
