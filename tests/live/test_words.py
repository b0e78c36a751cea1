"""What the terminal and the page say of noise: no finer than it is known, and of whom it was."""

from dataclasses import replace

import pytest
from click.testing import CliRunner

from report import sample_live
from report.sample_live import live_outcome
from report.test_answered import COPY, START, figure
from seekwise.cli.main import cli
from seekwise.errors import UsageError
from seekwise.judge.decision.choose import Choice
from seekwise.judge.decision.found_load import FOUND
from seekwise.judge.decision.records import with_choices
from seekwise.judge.decision.verdicts import judge
from seekwise.judge.outcome import for_purpose, notes
from seekwise.report import answered, of_run, tune_answer
from seekwise.report.tune_answer import next_command
from seekwise.store.database import Store


def under_others(shares, waited=0.9, programs=()):
    """The sample run, with what others used in each period: (of the processors, of the disk)."""
    found = live_outcome()
    records = [
        replace(
            record,
            conditions={
                **record.conditions,
                "foreign_processors": shares[number % len(shares)][0],
                "foreign_share": shares[number % len(shares)][1],
                "waited": {"cpu": waited},
                **({"other_programs": list(programs)} if number < 2 else {}),
            },
        )
        for number, record in enumerate(found.records)
    ]
    return replace(found, records=records)


def test_a_run_beside_a_heavy_load_of_others_advises_nothing_and_says_why_first():
    for shares, used in (
        ([(0.85, 0.6)], "85 % of the processors and 60 % of the disk"),
        ([(0.1, 0.9), (0.1, 0.5)], "70 % of the disk"),
        ([(0.9, 0.0)], "90 % of the processors"),
    ):
        found = under_others(shares)
        assert found.choice is None and not found.lines.set
        first = answered.together(tune_answer.answers(found))
        assert first == f"Other programs used {used} while this ran: repeat it when it is quiet. Keep mq-deadline."
        with pytest.raises(UsageError, match="repeat it when it is quiet"):
            of_run.Report(found).advised()
    # Of a hundred processors sixty may be busy: nothing had to wait for one.
    assert under_others([(0.6, 0.0)], waited=0.01).choice is not None
    assert live_outcome().choice is not None


def test_a_load_of_others_that_leaves_the_answer_is_a_note_with_its_programs():
    program = {"name": "cp", "pid": 7, "io_bytes": 2_000_000}
    found = under_others([(0.05, 0.3)], programs=[program])
    assert found.choice is not None
    (said,) = [text for text in notes(found) if text.startswith("Other programs")]
    assert (
        said
        == "Other programs used 30 % of the disk while this ran (cp (pid 7, 4.0 MB)); the intervals include that noise"
    )
    assert not [text for text in notes(under_others([(0.05, 0.1)])) if text.startswith("Other programs")]


def test_a_storage_that_something_else_uses_is_said_in_the_headline():
    found = live_outcome()
    plan = found.plan
    quiet, shared = (
        answered.together(
            tune_answer.answers(replace(found, plan=replace(plan, extra={**plan.extra, "others_per_s": rate})))
        )
        for rate in (12, 600)
    )
    assert "something else" not in quiet.lower()
    assert (
        shared
        == f"{quiet} Something else used this storage (600 requests per second before the run): the answer holds with that load."
    )


def test_the_next_command_sets_what_one_purpose_wants_where_all_together_keep():
    found = live_outcome()
    keeps = Choice(found.plan.in_force.label, False, 0.0, 0.0, 0.0, 0.0, 0.0)
    decided = replace(
        found.decided,
        choice=keeps,
        by_purpose={"throughput": keeps, "responsive": replace(keeps, setting="bfq", changes=True)},
    )
    assert next_command(replace(found, decided=decided)) == "sudo seekwise apply last --for responsive"
    assert (
        next_command(replace(found, decided=replace(decided, by_purpose={"throughput": keeps})))
        == "seekwise results last --all"
    )
    # What was asked for by name is answered by itself: no purpose that its headline does not speak of.
    asked = replace(found, decided=decided, plan=replace(found.plan, group=found.plan.uses[0].name))
    assert next_command(asked) == "seekwise results last --all"


def outcome_of(*figures):
    """A run with these figures alone, mq-deadline in force."""
    names = ["mq-deadline", "none", "bfq"]
    return replace(live_outcome(), decided=with_choices(judge(list(figures), "mq-deadline"), "mq-deadline", names))


def test_advice_for_a_purpose_names_the_price_as_the_whole_run_does():
    whole = outcome_of(START, COPY, figure("backup", {"mq-deadline": 100, "none": 100, "bfq": 99}))
    asked = for_purpose(whole, "responsive")
    price = answered.together(tune_answer.answers(asked)).partition("slower. ")[0]
    assert answered.together(tune_answer.answers(whole)).startswith(price) and "copy about 4" in price
    # Of other work only what gets worse has a row.
    rows = [(row.use, row.judged.metric, row.other) for row in answered.rows(tune_answer.question(asked))]
    assert rows == [("desktop-copy", "time", "bfq"), ("desktop-copy", "background_done", "bfq")]
    assert next_command(asked, "20260102-0304-abcd", "responsive").endswith("apply 20260102-0304-abcd --for responsive")


def test_where_purposes_want_different_settings_none_is_taken_silently():
    faster = figure("backup", {"mq-deadline": 500, "none": 920, "bfq": 500})
    found = outcome_of(START, faster)
    assert {name: each.setting for name, each in found.decided.by_purpose.items() if each.changes} == {
        "responsive": "bfq",
        "throughput": "none",
    }
    assert not found.lines.set and not found.lines.undo
    assert next_command(found) == "sudo seekwise apply last --for responsive  # or --for throughput"
    with pytest.raises(UsageError, match="responsive wants bfq, throughput wants none") as caught:
        of_run.Report(found).advised().asked.changes()
    assert "--for responsive" in str(caught.value.hint) and "--for throughput" in str(caught.value.hint)
    assert {row.other for row in answered.rows(tune_answer.question(found))} == {"bfq", "none"}
    values = of_run.Report(found).advised("throughput").asked.changes()
    assert values == {"vda": {"queue/scheduler": "none"}}


def test_a_run_that_found_no_load_says_so_instead_of_advice():
    found = live_outcome()
    idle = [
        replace(
            record,
            factors={**record.factors, "use": FOUND},
            phases=tuple(replace(phase, ios=0) for phase in record.phases),
        )
        for record in found.records
    ]
    with pytest.raises(UsageError, match="no load"):
        of_run.Report(replace(found, records=idle)).advised()


def test_results_of_a_run_say_what_it_was_of_and_end_with_what_sets_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sample_live.SPEED, "kyber", 2.0)
    found = live_outcome(seed=77)
    file = tmp_path / "results.db"
    with Store.open(file) as store:
        for number in (1, 2):
            began = f"2026-01-02T03:0{number}:05.000+00:00"
            run = replace(found.run, run_id=f"20260102-030{number}-abcd", created_at=began)
            store.add_run(run)
            for each in found.records:
                store.add(replace(each, run_id=run.run_id))
            store.end_run(run.run_id, "complete")

    def said(*words):
        return CliRunner().invoke(cli, ["results", *words, "--db", str(file)], obj={})

    newest = said("last").stdout.splitlines()
    first = " ".join(newest[:2])
    assert first.startswith(
        f"run 20260102-0302-abcd, {found.run.name}, tune of {found.run.target} on vda, 10 minutes, "
    )
    # With the prompt a screen of 24 lines.
    assert len(newest) <= 23 and newest[-1] == f"next: sudo seekwise apply last --db {file}", newest
    assert (
        said("20260102-0301-abcd").stdout.splitlines()[-1]
        == f"next: sudo seekwise apply 20260102-0301-abcd --db {file}"
    )
    assert isinstance(said("last", "--figures").exception, UsageError)
