"""The compiled core and the package belong together."""

from importlib.metadata import version

from seekwise import _core


def test_core_has_the_version_of_the_package():
    assert _core.version() == version("seekwise")
