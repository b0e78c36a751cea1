"""A guest that can be booted, or the reason why not."""

from __future__ import annotations

import sys

import pytest

from seekwise.errors import MissingError
from seekwise_proof.testbed import image, kernels, machine


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What boots a kernel is slow."""
    for item in items:
        if "guest" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def guest():
    """Images by series; skips, with the reason, where qemu, compiler or packages are missing."""

    def of(series: str) -> image.Image:
        try:
            machine.qemu()
            return image.build(kernels.find(series), lambda sentence: print(sentence, file=sys.stderr))
        except MissingError as error:
            pytest.skip(error.message)

    return of
