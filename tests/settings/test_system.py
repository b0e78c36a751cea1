"""These tests will install into a folder, look at what is there, and find the folder as before after uninstalling."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from control.test_recovery import rewrite
from seekwise.cli.main import cli
from seekwise.control.settings import Journal, write_journalled
from seekwise.settings.system import install, manual, restore, units

from .test_apply import seekwise


def everything(root: Path) -> dict[str, str]:
    """Every file, link and folder below a root, with what it holds and its mode."""
    found = {}
    for path in sorted(root.rglob("*")):
        kind = f"-> {path.readlink()}" if path.is_symlink() else path.read_bytes().hex() if path.is_file() else "folder"
        found[str(path.relative_to(root))] = f"{path.lstat().st_mode:o} {kind}"
    return found


@pytest.fixture
def root(tmp_path):
    """A root file system with some folders there already and some not."""
    folder = tmp_path / "root"
    for name in ("usr/share/man/man8", "usr/lib/systemd/system", "etc/systemd/system/timers.target.wants"):
        (folder / name).mkdir(parents=True)
    (folder / "usr/share/man/man8/other.8").write_text("other\n")
    return folder


def test_uninstall_leaves_no_trace(root, tmp_path):
    before = everything(root)
    done = seekwise("system", "install", "--weekly-status", "--root", str(root), state=tmp_path)
    assert done.returncode == 0, done.stderr
    inside = everything(root)
    assert {
        "usr/share/man/man8/seekwise.8",
        "usr/share/man/man8/seekwise-status.8",
        f"{units.FOLDER}/{units.RESTORE}",
    } <= set(inside)
    assert (
        "usr/share/fish/vendor_completions.d/seekwise.fish" in inside
        and "usr/share/zsh/site-functions/_seekwise" in inside
    )
    assert seekwise("system", "install", "--root", str(root), state=tmp_path).returncode == 0, (
        "again, without the timer"
    )
    assert f"{units.FOLDER}/{units.TIMER}" not in everything(root)
    assert seekwise("system", "uninstall", "--root", str(root), state=tmp_path).stdout == "removed\n"
    assert everything(root) == before


def test_an_edited_file_stays_and_is_named(root):
    planned = install.InstallPlan({"usr/share/man/man8/seekwise.8": "page\n"}, {})
    install.install(planned, root)
    (root / "usr/share/man/man8/seekwise.8").write_text("mine\n")
    assert install.uninstall(root) == ["/usr/share/man/man8/seekwise.8 has been edited since: it stays"]
    assert (root / "usr/share/man/man8/seekwise.8").read_text() == "mine\n"


def test_an_edited_file_is_not_overwritten_by_a_second_installation(root, tmp_path):
    assert seekwise("system", "install", "--root", str(root), state=tmp_path).returncode == 0
    page = root / "usr/share/man/man8/seekwise-status.8"
    page.write_text("mine\n")
    before = everything(root)
    done = seekwise("system", "install", "--weekly-status", "--root", str(root), state=tmp_path)
    assert done.returncode == 3 and "has been edited since it was installed" in done.stderr
    assert everything(root) == before


@pytest.mark.parametrize("after", range(8))
def test_an_installation_that_was_cut_off_anywhere_can_be_uninstalled(root, monkeypatch, after):
    before = everything(root)
    calls = []
    real = install.write_whole

    class PowerCut(BaseException):
        pass

    def cut_off(path, *words, **named):
        calls.append(path)
        if len(calls) == after:
            path.with_name(f".{path.name}.4711").write_text("half")
            raise PowerCut
        return real(path, *words, **named)

    monkeypatch.setattr(install, "write_whole", cut_off)
    planned = install.InstallPlan(
        {f"usr/share/seekwise{each}/file": "x\n" for each in range(6)}, {"etc/a/b/link": "/x"}
    )
    try:
        install.install(planned, root)
    except PowerCut:
        assert after
    install.uninstall(root)
    # Where the list itself was cut off, nothing else was begun, and the next installation takes its place.
    install.install(planned, root)
    install.uninstall(root)
    assert everything(root) == before


def test_a_file_of_somebody_else_is_never_overwritten(root, tmp_path):
    (root / "usr/share/man/man8/seekwise.8").write_text("theirs\n")
    before = everything(root)
    done = seekwise("system", "install", "--root", str(root), state=tmp_path)
    assert done.returncode == 3 and "not ours" in done.stderr
    assert everything(root) == before


def test_uninstalling_nothing_says_so(root, tmp_path):
    assert seekwise("system", "uninstall", "--root", str(root), state=tmp_path).stdout == "nothing is installed\n"
    assert seekwise("system", "uninstall", "--root", str(tmp_path / "none"), state=tmp_path).returncode == 2


def test_every_command_has_a_page_that_man_can_format(tmp_path):
    pages = manual.pages(cli, "0")
    assert {"seekwise.8", "seekwise-apply.8", "seekwise-doctor.8", "seekwise-status.8", "seekwise-system.8"} <= set(
        pages
    )
    for name, text in pages.items():
        assert text.startswith('.TH "SEEKWISE') and ".SH EXIT STATUS" in text, name
    groff = shutil.which("groff") or shutil.which("mandoc")
    if groff is None:
        pytest.skip("neither groff nor mandoc is installed to format the pages")
    for name, text in pages.items():
        (tmp_path / name).write_text(text)
        words = ["-man", "-ww", "-Tutf8", "-z"] if groff.endswith("groff") else ["-Tlint", "-Werror"]
        done = subprocess.run([groff, *words, str(tmp_path / name)], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and not done.stderr, done.stderr


def test_completions_are_what_each_shell_reads(root, tmp_path):
    seekwise("system", "install", "--root", str(root), state=tmp_path)
    for shell, file in (
        ("bash", "usr/share/bash-completion/completions/seekwise"),
        ("zsh", "usr/share/zsh/site-functions/_seekwise"),
        ("fish", "usr/share/fish/vendor_completions.d/seekwise.fish"),
    ):
        if program := shutil.which(shell):
            assert subprocess.run([program, "-n", str(root / file)], check=False).returncode == 0
        assert "_SEEKWISE_COMPLETE" in (root / file).read_text()


def test_the_unit_restores_with_a_journal_that_cannot_be_written(kernel, tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_STATE", str(tmp_path / "state"))
    journal = Journal()
    folder = kernel.add_disk("sda", "mq-deadline")
    write_journalled("changed", {"sda": {"queue/scheduler": "bfq"}}, kernel.root, journal, lambda entry: None)
    rewrite(journal, start_ticks=1)  # the process is gone
    monkeypatch.setattr(restore, "_read_only", lambda folder: True)
    said = restore.restore(tmp_path / "run")
    assert "[mq-deadline]" in (folder / "queue/scheduler").read_text() and "sda is as before" in said[0]
    assert not (tmp_path / "run").exists()
    assert not journal.is_empty(), "closed by the next seekwise that can write"
    assert restore.restore(tmp_path / "run") == ["sda had its previous settings already"]


def test_the_unit_does_not_come_before_what_udevd_waits_for():
    """udevd comes after systemd-sysusers, which comes after systemd-remount-fs: before that one and after udevd is a cycle."""
    text = units.files(["/usr/bin/seekwise"], "/var/lib/seekwise", False)[f"{units.FOLDER}/{units.RESTORE}"]
    before = next(line for line in text.splitlines() if line.startswith("Before="))
    assert before == "Before=local-fs-pre.target"
