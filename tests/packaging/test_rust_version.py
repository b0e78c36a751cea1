"""Every crate that the lock file names can be built with the Rust that Cargo.toml declares, which is Debian 13's: those of tests too."""

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo to read the lock file with")
def test_no_crate_needs_a_newer_rust_than_is_declared():
    with (ROOT / "Cargo.toml").open("rb") as file:
        declared = tomllib.load(file)["workspace"]["package"]["rust-version"]
    done = subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    metadata = json.loads(done.stdout)
    resolved = {node["id"] for node in metadata["resolve"]["nodes"]}
    needs = {
        f"{each['name']} {each['version']}": each["rust_version"]
        for each in metadata["packages"]
        if each["id"] in resolved and each["rust_version"]
    }
    assert len(needs) > 50
    assert not {name: version for name, version in needs.items() if number(version) > number(declared)}
