"""Every library has a stated lowest version, which `make lowest` installs."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pins = runpy.run_path(str(ROOT / "tools/lowest.py"))["pins"]


def test_the_lowest_of_every_declared_range_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = dict(each.split("==") for each in pins(project))
    assert len(project["dependencies"]) < len(found)
    assert all(f"{name}>={version}" in str(project) for name, version in found.items())
    assert {"rich", "pyte", "pytest"} <= found.keys() and not {"ruff", "mkdocs"} & found.keys()


@pytest.mark.parametrize("requirement", ["rich", "rich<15", "rich~=14.0"])
def test_a_range_without_a_lower_end_is_an_error(requirement):
    with pytest.raises(ValueError, match="state a range as"):
        pins({"name": "seekwise", "dependencies": [requirement], "optional-dependencies": {}})
