"""Machines for the tests: captured and reconstructed trees from tests/machines, and small ones built on the spot."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from seekwise.linux.block_device import Stack
from seekwise.linux.stack import read_stack

MACHINES = Path(__file__).resolve().parents[1] / "machines"

_specification = importlib.util.spec_from_file_location("reconstruct", MACHINES / "reconstruct.py")
assert _specification and _specification.loader
reconstruct = importlib.util.module_from_spec(_specification)
_specification.loader.exec_module(reconstruct)


def machine_names() -> list[str]:
    archives = [path.name.removesuffix(".tar.gz") for path in MACHINES.glob("*.tar.gz")]
    folders = [path.name for path in MACHINES.iterdir() if (path / "sys").is_dir()]
    return sorted(archives + folders)


def machine_path(name: str) -> Path:
    archive = MACHINES / f"{name}.tar.gz"
    return archive if archive.exists() else MACHINES / name


@pytest.fixture
def machine() -> Callable[[str], Stack]:
    return lambda name: read_stack(machine_path(name))


@pytest.fixture
def builder(tmp_path: Path) -> object:
    """A `MachineBuilder` of tests/machines/reconstruct.py below a temporary folder."""
    return reconstruct.MachineBuilder(tmp_path / "machine", "6.1.0")
