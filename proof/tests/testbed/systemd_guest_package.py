"""What runs in the guest of `test_systemd_guest.py`, as one ext4 image: this package and the libraries that it loads, compiled.

Under emulation each of the two thousand look-ups of a start costs a hundred times what it does here, over 9p a thousand times:
so a local file system, only what is loaded, and nothing left for Python to compile.
"""

from __future__ import annotations

import compileall
import importlib.util
import shutil
import subprocess
from importlib import metadata
from pathlib import Path

from seekwise.linux.block_device import BlockDevice, Stack
from seekwise.settings.forms import udev
from seekwise_proof.testbed import programs

REPOSITORY = Path(__file__).resolve().parents[3]
# The guest's Python is Debian 12's; numpy is built for one minor version.
PYTHON = (3, 11)
LIBRARIES = (
    "annotated_types", "click", "markdown_it", "mdurl", "numpy", "numpy.libs", "pydantic", "pydantic_core", "pygments", "rich",
    "typing_extensions.py", "typing_inspection", "backports",
)  # fmt: skip
FORMS = REPOSITORY / "tests/settings/forms"


HOSTILE = (
    'W"D, RUN+="/bin/sh', "W\nD", "W\r\nD", "W*", "W?[a-z]", "$env{X}", "$$", "%k", "%%", "W\\", 'W\\"', "W{a}", "é漢", "W|D", "W'`;", "\tW ", "W\0D",
)  # fmt: skip
"""Serials that a rule could misread."""


def _hostile_rules() -> str:
    """Our rules for drives with such serials, in one file."""
    disks = {
        f"sd{chr(ord('a') + at)}": BlockDevice(
            f"sd{chr(ord('a') + at)}", "disk", 1 << 30, f"8:{16 * at}", serial=serial, transport="sata"
        )
        for at, serial in enumerate(HOSTILE)
    }
    stack = Stack(disks, (), Path("/nonexistent"), kernel="6.1.0")
    return udev.file({name: {"queue/scheduler": "bfq"} for name in disks}, stack).text


def make(image: Path, work: Path) -> None:
    """Writes `image` (about 300 MB, sparse); `work` is a folder for what goes into it until then."""
    stage = work / "package"
    site = Path(importlib.util.find_spec("click").origin).parents[1]
    for name in LIBRARIES:
        source = site / name
        if source.is_dir():
            # Time stamps are kept, so that what pip has compiled counts.
            shutil.copytree(source, stage / name, ignore=shutil.ignore_patterns("tests", "*.pyi", "*.pxd", "include"))
        elif source.exists():
            shutil.copy2(source, stage)
    shutil.copytree(REPOSITORY / "python/seekwise", stage / "seekwise", ignore=shutil.ignore_patterns("*.so"))
    core = importlib.util.find_spec("seekwise._core").origin
    subprocess.run(["strip", "-o", stage / "seekwise" / Path(core).name, core], check=True)
    # What the Debian package installs.
    shutil.copytree(REPOSITORY / "packaging/systemd", stage / "units")
    described = stage / f"seekwise-{metadata.version('seekwise')}.dist-info" / "METADATA"
    described.parent.mkdir()
    described.write_text(str(metadata.distribution("seekwise").read_text("METADATA")))
    compileall.compile_dir(stage, quiet=2)
    (stage / "seekwise-drive").write_bytes(programs.drive(print))
    (stage / "seekwise-drive").chmod(0o755)
    # udev's rules of every captured machine, for `udevadm verify`.
    for rules in FORMS.glob("*/udev"):
        lines = [line for line in rules.read_text().splitlines(keepends=True) if not line.startswith("# note")]
        target = stage / "rules" / f"{rules.parent.name}.rules"
        target.parent.mkdir(exist_ok=True)
        target.write_text("".join(lines))
    (stage / "rules/hostile.rules").write_text(_hostile_rules())
    size_kib = sum(path.stat().st_size for path in stage.rglob("*") if path.is_file()) // 1024
    image.unlink(missing_ok=True)
    # No journal: it is mounted read-only. An eighth more than the content for inodes and half-filled blocks.
    subprocess.run(
        ["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-d", stage, image, f"{size_kib * 9 // 8 + 32768}k"], check=True
    )  # fmt: skip
    shutil.rmtree(stage)
