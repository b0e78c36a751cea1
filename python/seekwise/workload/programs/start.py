"""A program starts: Python with NumPy and SciPy, from a tree of modules and shared objects on the target."""

from __future__ import annotations

from seekwise.workload.program import Program


class Start(Program):
    """The interpreter and all that it loads are evicted before each start."""

    name = "start"
    title = "starts Python with NumPy and SciPy, none of it in memory"
    unit = "start"
    long_units = True
