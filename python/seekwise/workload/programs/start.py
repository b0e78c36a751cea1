"""A program starts: Python with NumPy and other libraries, from a tree of modules and shared objects on the target."""

from __future__ import annotations

from seekwise.workload import cold, python_tree
from seekwise.workload.program import Place, Program, call


class Start(Program):
    """The interpreter and all that it loads are evicted before each start: page faults, read-ahead, computing in
    between."""

    name = "start"
    title = "starts Python with its libraries, none of it in memory"
    unit = "start"
    kind = "start"
    age = "grown"
    long_units = True
    expected_s = 1.5
    data_sets = ("python",)
    """A copy of Python with NumPy and other libraries."""

    def before(self, place: Place) -> None:
        """Evicts every file of the tree."""
        place.cached_share = cold.evict(python_tree.files(place.data / "python"))

    def work(self, place: Place) -> int:
        """Always 0: which pages are loaded is up to the kernel. Raises RuntimeError where the interpreter fails."""
        tree = place.data / "python"
        call(python_tree.command(tree), env=python_tree.environment(tree))
        return 0
