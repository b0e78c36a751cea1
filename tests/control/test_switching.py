"""What is switched under a load: the scheduler stays what it was wherever no candidate names it."""

import pytest

from seekwise.control import settings
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
