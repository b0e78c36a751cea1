"""`devices` on a narrow terminal: a long mount point, options and a backing file break between words, and nothing is cut or stands alone."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.tree import Tree

from seekwise.linux.block_device import Mount
from seekwise.report import devices as show

POINT = "/srv/backups/of/the/whole/company/and/some/more/folders/that/are/deep"


def lines(text, width):
    out = io.StringIO()
    Console(file=out, width=width).print(Tree(text))
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("width", [40, 60, 80, 100])
@pytest.mark.parametrize("before", ["", "/srv/backups/of"])
def test_a_long_mount_breaks_between_words(width, before):
    options = ("rw", "relatime", "discard", "stripe=256", "data=ordered")
    mount = Mount(Path(POINT), "/dev/sda1", "ext4", options, "8:1")
    said = lines(show._mount_line(mount, width, before), width)
    assert max(map(len, said)) <= width
    whole = "".join(said).replace(" ", "")
    assert POINT in whole and all(each in whole for each in options)
    # The kind of file system stands with its options, not at the end of a line alone.
    assert not any(line.strip() == "ext4," for line in said)
    for each in options:
        assert any(each in line for line in said), f"{each} is broken"


def test_what_fits_stays_on_one_line():
    assert lines(show._line("sda", "SATA disk, 4 TB", 40), 40) == ["sda  SATA disk, 4 TB"]
    assert lines(show._line("loop0", "loop on /a/long/path/to/an/image.img, 20 GB", 30), 30)[0].startswith(
        "loop0  loop on"
    )
