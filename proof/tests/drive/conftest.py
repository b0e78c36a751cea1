"""Folders with short names: a socket's path has 107 bytes at most, and those of tests that run side by side are long."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sw-") as folder:
        yield Path(folder)
