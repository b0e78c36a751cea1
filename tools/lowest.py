"""Prints the lowest version of every range that pyproject.toml declares, as `name==version`, one a line: what `make lowest` installs.

A name without a lower bound, or with another way to state one, is an error: then nobody would know what is promised.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

NOT_RUN = ("docs", "ruff", "mypy")
"""The site's extra, and the tools of `make check`: no test runs them."""


def pins(project: dict) -> list[str]:
    """Of what is needed and of all extras; an extra that names extras of our own adds nothing."""
    extras = [each for name, group in project["optional-dependencies"].items() if name not in NOT_RUN for each in group]
    found = []
    for requirement in (*project["dependencies"], *extras):
        if requirement.startswith(f"{project['name']}["):
            continue
        stated = re.fullmatch(r"([A-Za-z0-9._-]+)>=([0-9.]+)(,<[0-9.]+)?(; python_version .*)?", requirement)
        if stated is None:
            raise ValueError(f"{requirement}: state a range as `name>=version`")
        if stated[1] not in NOT_RUN:
            found.append(f"{stated[1]}=={stated[2]}")
    return found


if __name__ == "__main__":
    with (Path(__file__).parents[1] / "pyproject.toml").open("rb") as file:
        sys.stdout.write("\n".join(pins(tomllib.load(file)["project"])) + "\n")
