"""The running machine: a real loop device through the real kernel. Needs root."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from seekwise.errors import RefusedError
from seekwise.linux import diskstats
from seekwise.linux.resolve import resolve_path
from seekwise.linux.stack import read_stack

pytestmark = pytest.mark.root


@pytest.fixture
def loop(tmp_path):
    if os.geteuid() != 0 or not shutil.which("losetup"):
        pytest.skip("needs root and losetup for a loop device")
    image = tmp_path / "with space.img"
    image.touch()
    os.truncate(image, 8 << 20)
    made = subprocess.run(["losetup", "-f", "--show", image], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no loop device here: {made.stderr.strip()}")
    path = made.stdout.strip()
    yield path, image
    subprocess.run(["losetup", "-d", path], check=True)


def test_a_real_loop_device_is_its_own_leaf_and_names_its_file(loop):
    path, image = loop
    stack = read_stack()
    found = resolve_path(stack, path)
    device = found.leaves[0]
    assert (device.kind, device.backing_file, device.size_bytes) == ("loop", str(image), 8 << 20)
    assert device.scheduler in device.schedulers_offered
    assert [leaf.name for leaf in found.leaves] == [path.removeprefix("/dev/")]
    try:
        holder = resolve_path(stack, image.parent)
    except RefusedError as error:
        pytest.skip(f"the temporary folder has no disk here: {error.message}")
    assert device.below == holder.devices


def test_a_file_deleted_under_its_loop_is_said_to_be_gone(loop):
    path, image = loop
    image.unlink()
    device = read_stack().devices[path.removeprefix("/dev/")]
    assert (device.backing_file, device.details["deleted"]) == (str(image), True)


def test_a_link_to_a_device_resolves_like_the_device(loop, tmp_path):
    path, _ = loop
    (tmp_path / "link").symlink_to(path)
    assert resolve_path(read_stack(), tmp_path / "link").device == path.removeprefix("/dev/")


def test_the_kernel_counts_what_is_read(loop):
    path, _ = loop
    name = path.removeprefix("/dev/")
    before = diskstats.read()[name].read_bytes
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    assert len(os.read(descriptor, 1 << 20)) == 1 << 20
    os.close(descriptor)
    assert diskstats.read()[name].read_bytes - before >= 1 << 20
