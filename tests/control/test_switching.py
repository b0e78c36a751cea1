"""What is switched under a load: the scheduler stays what it was wherever no candidate names it."""

import pytest

from seekwise.control import recovery, settings
from seekwise.control.switching import switching


@pytest.mark.parametrize(
    "name, values",
    [
        ("nr_requests", ("64", "128")),
        ("read_ahead_kb", ("0", "512")),
        ("nomerges", ("0", "2")),
        ("iosched/fifo_batch", ("1", "16")),
    ],
)
def test_a_scheduler_that_no_candidate_names_is_never_left(kernel, journal, name, values):
    kernel.add_disk("vda", "mq-deadline")
    before = settings.read_settings("vda", kernel.root)
    with switching([{"vda": {f"queue/{name}": value}} for value in values], kernel.root, journal) as switch:
        for value in values:
            switch.to({"vda": {f"queue/{name}": value}})
            switch.through_another_scheduler(0)
            assert settings.read_settings("vda", kernel.root) == before
    assert "queue/scheduler" not in [written for written, _ in kernel.written]
    assert journal.is_empty()


def test_a_scheduler_that_is_varied_is_chosen_anew_with_what_it_had(kernel, journal):
    folder = kernel.add_disk("vda", "mq-deadline")
    (folder / "queue/iosched/fifo_batch").write_text("7\n")
    before = settings.read_settings("vda", kernel.root)
    with switching([{}, {"vda": {"queue/scheduler": "bfq"}}], kernel.root, journal) as switch:
        switch.through_another_scheduler(0)
        assert [value for written, value in kernel.written if written == "queue/scheduler"] == ["none", "mq-deadline"]
        assert settings.read_settings("vda", kernel.root) == before
    assert journal.is_empty()


def follows(kernel, folder, cause: str, name: str = "queue/of_next_year"):
    """A kernel of next year: writing `cause` moves an attribute that seekwise does not expect to move."""

    def follow(written, value):
        if written == cause:
            kernel.real_write(folder / name, value)

    kernel.before_write = follow


@pytest.mark.parametrize("name", ["queue/of_next_year", "queue/nomerges", "queue/rq_affinity"])
def test_what_follows_nr_requests_alone_is_said_once_and_comes_back(kernel, journal, capfd, name):
    folder = kernel.add_disk("sda", "mq-deadline", **{"queue/of_next_year": "7"})
    before = (folder / name).read_text()
    follows(kernel, folder, "queue/nr_requests", name)
    with switching([{"sda": {"queue/nr_requests": value}} for value in ("64", "256")], kernel.root, journal) as switch:
        for _ in range(3):
            switch.to({"sda": {"queue/nr_requests": "64"}})
            assert (folder / name).read_text() == "64\n"
            switch.to({"sda": {"queue/nr_requests": "256"}})
            assert (folder / name).read_text() == before, "the values in force are measured as they are"
        switch.to({"sda": {"queue/nr_requests": "64"}})
        switch.to_original()
        assert (folder / name).read_text() == before
        switch.to({"sda": {"queue/nr_requests": "64"}})
    assert (folder / name).read_text() == before and journal.is_empty()
    said = capfd.readouterr().err
    assert said.count("moved with it") == 1 and f"sda {name} moved with it: {before.strip()} → 64" in said


def test_what_another_program_sets_meanwhile_is_not_taken_for_what_a_switch_moved(kernel, journal, capfd):
    folder = kernel.add_disk("sda", "mq-deadline", **{"queue/of_next_year": "7"})
    with switching([{"sda": {"queue/read_ahead_kb": "64"}}, {}], kernel.root, journal) as switch:
        kernel.real_write(folder / "queue/of_next_year", "3")
        switch.to({"sda": {"queue/read_ahead_kb": "64"}})
        switch.to({})
    assert (folder / "queue/of_next_year").read_text() == "3\n" and not capfd.readouterr().err


def test_what_follows_nr_requests_comes_back_after_a_kill(kernel, journal, monkeypatch):
    folder = kernel.add_disk("sda", "mq-deadline", **{"queue/of_next_year": "7"})
    follows(kernel, folder, "queue/nr_requests")
    switch = switching([{"sda": {"queue/nr_requests": "64"}}], kernel.root, journal)
    switch.__enter__()
    switch.to({"sda": {"queue/nr_requests": "64"}})
    switch._locks.close()
    (entry,) = journal.entries()
    journal._let_go(journal._path(entry.id))
    switch.entry = None
    settings._active.remove(switch)
    monkeypatch.setattr("seekwise.control.process.ProcessIdentity.alive", False)
    kernel.before_write = None
    assert [outcome.state for outcome in recovery.restore_left_behind(journal)] == ["restored"]
    assert (folder / "queue/of_next_year").read_text() == "7\n"
