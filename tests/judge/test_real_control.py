"""This test will run one setting under two labels on a real loop device, through the whole program, and print how often the
rule names a winner where there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from seekwise.cli.run import command
from seekwise.judge import observations
from seekwise.judge.control import judge_control
from seekwise.judge.records import competing
from seekwise.store.database import Store

NEEDED = ("losetup", "mkfs.ext4", "mount", "umount", "fio")
MISSING = [name for name in NEEDED if shutil.which(name) is None]

pytestmark = [
    pytest.mark.root,
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="loop devices need root"),
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

STUDY = """
name = "a-a"
backend = "kernel"

[[system]]
name = "loop"
target = "{path}"

[[workload]]
operations = ["rand_read", "seq_read"]
threads = [1, 2]
size = "24m"
runtime = "500ms"

[design]
blocks = 3
sentinel = false
"""


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """An ext4 file system on a loop device of its own."""
    image, folder = tmp_path / "image", tmp_path / "mnt"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(256 * 2**20)
    made = subprocess.run(["losetup", "-f", "--show", str(image)], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"no loop device here: {made.stderr.strip()}")
    device = made.stdout.strip()
    try:
        subprocess.run(["mkfs.ext4", "-q", device], check=True, capture_output=True)
        tried = subprocess.run(["mount", device, str(folder)], capture_output=True, text=True, check=False)
        if tried.returncode != 0:
            pytest.skip(f"mounting is not possible here: {tried.stderr.strip()}")
        try:
            yield folder
        finally:
            subprocess.run(["umount", str(folder)], check=True)
    finally:
        subprocess.run(["losetup", "-d", device], check=True)


def test_a_setting_against_itself_on_a_real_loop_device(
    mounted: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    study, db = tmp_path / "study.toml", tmp_path / "db"
    study.write_text(STUDY.format(path=mounted))
    result = CliRunner().invoke(command, [str(study), "--db", str(db)], standalone_mode=False)
    assert result.exception is None, result.exception
    with Store.open(db) as store:
        records = list(store.records(store.runs()[0].run_id))
    report = judge_control(observations(competing(records)))
    with capsys.disabled():
        print(f"\n{report.text}; {report.unknown} unknown")
    # Two operations and two thread counts, their means, and the metrics that such short trials give.
    assert report.comparisons >= 8
    assert all(
        pair.settings[0].removesuffix(" (control)") == pair.settings[1].removesuffix(" (control)")
        for pair in report.pairs
    )
    # At most one in twenty is promised over many studies; in a single small one more than a quarter would be a broken rule.
    assert report.wins_false_share <= 0.25
