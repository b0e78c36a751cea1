"""What the terminal and the page say of noise: no finer than it is known, and of whom it was."""

from dataclasses import replace

from report.sample_live import live_outcome
from seekwise.cli._tune_shown import next_command
from seekwise.judge.decision.choose import Choice
from seekwise.judge.outcome import notes
from seekwise.report import tune_answer


def test_other_programs_are_named_once_and_only_those_of_disturbed_periods():
    found = live_outcome()
    calm, first, second, *rest = found.records
    records = [
        replace(
            calm, conditions={**calm.conditions, "other_programs": [{"name": "bash", "pid": 4, "io_bytes": 99_000_000}]}
        ),
        replace(
            first,
            conditions={
                **first.conditions,
                "foreign_share": 0.5,
                "other_programs": [{"name": "cp", "pid": 7, "io_bytes": 2_000_000}],
            },
        ),
        replace(
            second,
            conditions={
                **second.conditions,
                "foreign_share": 0.4,
                "other_programs": [{"name": "cp", "pid": 7, "io_bytes": 3_500_000}, "old (pid 9, 9.9 MB)"],
            },
        ),
        *rest,
    ]
    (said,) = [text for text in notes(replace(found, records=records)) if text.startswith("Other programs")]
    assert ": cp (pid 7, 5.5 MB);" in said
    assert "bash" not in said


def test_a_storage_that_something_else_uses_is_said_in_the_headline():
    found = live_outcome()
    plan = found.plan
    quiet, shared = (
        tune_answer.headline(replace(found, plan=replace(plan, extra={**plan.extra, "others_per_s": rate})))
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
        found.found,
        choice=keeps,
        by_purpose={"throughput": keeps, "responsive": replace(keeps, setting="bfq", changes=True)},
    )
    assert next_command(replace(found, found=decided)) == "sudo seekwise apply last --for responsive"
    assert (
        next_command(replace(found, found=replace(decided, by_purpose={"throughput": keeps})))
        == "seekwise results last --all"
    )
