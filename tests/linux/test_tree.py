"""Trees: links stay inside, holes are None, archives and folders read alike, hostile archives do no harm."""

from __future__ import annotations

import io
import os
import tarfile

import pytest

from seekwise.errors import UsageError
from seekwise.linux.tree import ArchiveTree, FolderTree, open_tree


def folder_with(tmp_path, **files: str):
    for name, content in files.items():
        target = tmp_path / name.replace("__", "/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
    return FolderTree(tmp_path)


def archive_with(path, members: dict[str, str | bytes], links: dict[str, str] | None = None):
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            data = content if isinstance(content, bytes) else content.encode()
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    return path


def test_relative_and_absolute_links_are_followed_inside_the_tree(tmp_path):
    tree = folder_with(tmp_path, sys__devices__d0__size="8\n")
    (tmp_path / "sys/block").mkdir()
    os.symlink("../devices/d0", tmp_path / "sys/block/a")
    os.symlink("/sys/devices/d0", tmp_path / "sys/block/b")
    assert tree.number("/sys/block/a/size") == tree.number("/sys/block/b/size") == 8
    assert tree.link("/sys/block/a") == "d0"


def test_links_cannot_leave_the_tree(tmp_path):
    (tmp_path / "secret").write_text("no")
    root = tmp_path / "machine"
    (root / "sys").mkdir(parents=True)
    os.symlink("../../../../../secret", root / "sys/up")
    os.symlink(str(tmp_path / "secret"), root / "sys/away")
    tree = FolderTree(root)
    assert tree.text("/sys/up") is None
    assert tree.text("/sys/away") is None
    assert tree.text("/sys/../../secret") is None


def test_link_loops_end(tmp_path):
    (tmp_path / "sys").mkdir()
    os.symlink("b", tmp_path / "sys/a")
    os.symlink("a", tmp_path / "sys/b")
    assert FolderTree(tmp_path).resolve("/sys/a") is None


def test_what_cannot_be_read_is_none(tmp_path):
    tree = folder_with(tmp_path, sys__size="eight", sys__empty="")
    os.mkfifo(tmp_path / "sys/pipe")
    assert tree.number("/sys/size") is None
    assert tree.number("/sys/empty") is None
    assert tree.word("/sys/empty") is None
    assert tree.text("/sys/pipe") is None
    assert tree.text("/sys/missing") is None
    assert tree.names("/sys/missing") == []


def test_archive_and_folder_read_alike(tmp_path):
    archive = archive_with(tmp_path / "a.tar.gz", {"sys/devices/d0/size": "8\n"}, {"sys/block/a": "../devices/d0"})
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "unpacked")
    for tree in (ArchiveTree(archive), FolderTree(tmp_path / "unpacked")):
        assert tree.number("/sys/block/a/size") == 8
        assert tree.names("/sys") == ["block", "devices"]


@pytest.mark.parametrize("prefix", ["", "./", "server7/"])
def test_archives_may_have_a_folder_on_top(tmp_path, prefix):
    archive = archive_with(tmp_path / "a.tar.gz", {f"{prefix}sys/block/x/size": "8\n"})
    assert open_tree(archive).number("/sys/block/x/size") == 8


def test_archive_members_cannot_escape(tmp_path):
    archive = archive_with(
        tmp_path / "a.tar.gz", {"../../etc/evil": "x", "/sys/size": "1"}, {"sys/up": "../../../etc/passwd"}
    )
    tree = ArchiveTree(archive)
    assert tree.text("/sys/up") is None
    assert tree.number("/sys/size") == 1
    assert not (tmp_path.parent / "etc").exists()


@pytest.mark.parametrize(
    "content", [b"", b"no archive", b"\x1f\x8b\x08\x00broken"], ids=["empty", "text", "broken gzip"]
)
def test_damaged_archives_are_one_clear_error(tmp_path, content):
    damaged = tmp_path / "damaged.tar.gz"
    damaged.write_bytes(content)
    with pytest.raises(UsageError):
        open_tree(damaged)


def test_truncated_archive_is_one_clear_error(tmp_path):
    archive = archive_with(tmp_path / "a.tar.gz", {f"sys/f{index}": os.urandom(2000) for index in range(20)})
    archive.write_bytes(archive.read_bytes()[:9000])
    with pytest.raises(UsageError, match="cannot be read as a tar archive"):
        open_tree(archive)


def test_a_folder_without_sys_is_no_machine(tmp_path):
    with pytest.raises(UsageError, match="no sys folder"):
        open_tree(tmp_path)
    with pytest.raises(UsageError, match="does not exist"):
        open_tree(tmp_path / "nothing")


def test_a_supportconfig_report_is_named_with_what_of_it_is_read(tmp_path):
    (tmp_path / "scc_host_260101_1200").mkdir()
    (tmp_path / "scc_host_260101_1200/basic-environment.txt").write_text("# /bin/uname -a\nLinux\n")
    with pytest.raises(UsageError, match="is a supportconfig report") as raised:
        open_tree(tmp_path)
    assert "seekwise devices --ncq scc_host_260101_1200/boot.txt" in str(raised.value.hint)
