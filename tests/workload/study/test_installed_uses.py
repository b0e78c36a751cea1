"""Which uses this machine can measure."""

import pytest

from seekwise.errors import MissingError, UsageError
from seekwise.workload.study import uses

FIO_MISSING = MissingError("fio is not installed", hint="sudo apt-get install fio")


def test_without_fio_the_uses_of_programs_are_left():
    left, said = uses.installed(uses.chosen(None), without_fio=FIO_MISSING)
    assert len(left) >= 10 and not uses.needs_fio(left)
    assert not any("fio" in sentence for sentence in said)
    _, of_a_device = uses.installed(uses.chosen(None, on_device=True), without_fio=FIO_MISSING)
    assert "virtual-machines is left out: fio is not installed" in of_a_device


def test_a_use_that_needs_fio_and_was_asked_for_is_refused_without_it():
    with pytest.raises(MissingError, match="fio is not installed"):
        uses.installed(uses.chosen("limits"), asked=uses.by_name("limits"), without_fio=FIO_MISSING)


def test_of_a_group_a_server_that_is_not_installed_is_left_out_without_a_word(monkeypatch):
    server = next(use for use in uses.shipped() if use.name == "mariadb").job[0].runs
    monkeypatch.setattr(type(server), "missing", lambda _: "MariaDB's server and client are not installed")
    left, said = uses.installed(uses.chosen("database"), asked=uses.by_name("database"))
    assert "mariadb" not in {use.name for use in left} and "database" in {use.name for use in left}
    assert said == []
    with pytest.raises(MissingError, match="mariadb cannot be measured"):
        uses.installed(uses.chosen("database,mariadb"), asked=uses.by_name("database,mariadb"))


@pytest.mark.parametrize(
    ("word", "group"),
    [("nas", "file-server"), ("mail", "file-server"), ("vm-host", "virtual-machines"), ("backup", "backup")],
)
def test_everyday_words_name_a_group(word, group):
    assert {use.group for use in uses.chosen(word)} == {group}
    assert uses.by_name(word) == frozenset()


@pytest.mark.parametrize(("word", "meant"), [("nass", "nas"), ("vmhost", "vm-host")])
def test_a_misspelt_everyday_word_is_guessed(word, meant):
    with pytest.raises(UsageError) as error:
        uses.chosen(word)
    assert error.value.hint == f"did you mean `{meant}`?"
