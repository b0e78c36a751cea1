"""The same device of files, journal and loop device as the tests of `control`."""

from control.conftest import journal, kernel, loop  # noqa: F401
