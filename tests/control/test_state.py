"""These tests will ask where the journal is, for every kind of user."""

from pathlib import Path

import pytest

from seekwise.control import state


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch):
    for name in ("SEEKWISE_STATE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


def test_root_keeps_it_on_the_system_disk(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert state.state_folder() == Path("/var/lib/seekwise")


def test_a_user_keeps_it_at_home_or_where_the_desktop_says(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/home/u")
    assert state.state_folder() == Path("/home/u/.local/state/seekwise")
    monkeypatch.setenv("XDG_STATE_HOME", "/home/u/state")
    assert state.state_folder() == Path("/home/u/state/seekwise")


def test_a_service_without_a_home_has_a_place_that_outlives_a_reboot(monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 4242)
    monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert state.state_folder() == Path("/var/tmp/seekwise-4242")


def test_it_can_be_chosen(monkeypatch):
    monkeypatch.setenv("SEEKWISE_STATE", "/srv/state")
    assert state.state_folder() == Path("/srv/state")
