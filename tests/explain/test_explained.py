"""`seekwise explain` knows every word that the program prints, and suggests a near one for any other."""

from __future__ import annotations

import typing

import pytest

from seekwise import environment
from seekwise.errors import UsageError
from seekwise.judge.decision import verdicts
from seekwise.judge.observe import METRICS
from seekwise.report.explain import explain
from seekwise.workload.study import uses
from seekwise.workload.study.study import BackendName


def unknown(words: list[str]) -> list[str]:
    missing = []
    for word in words:
        try:
            explain(word)
        except UsageError:
            missing.append(word)
    return missing


def test_verdicts_metrics_and_provenance_are_explained():
    words = [*typing.get_args(verdicts.Word), *typing.get_args(BackendName)]
    words += [*METRICS, *typing.get_args(uses.Judged)]
    assert not unknown(words)


def test_variables_and_statuses_are_explained():
    assert not unknown([*environment.VARIABLES])
    text = explain("exit status").text
    assert all(f"{status.value}: " in text for status in environment.STATUS_MEANINGS)


def test_each_use_says_its_jobs_and_the_command_that_measures_it():
    for each in uses.shipped():
        assert f"--for {each.name}" in explain(each.name).text, each.name
        assert all(job.name in explain(each.name).text for job in each.job)
    for group in uses.groups():
        assert f"--for {group}" in explain(group).text, group


def test_the_example_of_a_use_is_one():
    example = [line for line in explain("use").text.splitlines() if line.startswith("    ")]
    use = uses.loads("\n".join(example), "example.toml")
    assert [job.role for job in use.job] == ["foreground", "background"]


def test_a_term_that_is_a_command_too_says_both():
    text = explain("record").text
    assert "latency histogram" in text and "seekwise record" in text


@pytest.mark.parametrize(
    ("word", "meant"),
    [("databse", "database"), ("sentinle", "sentinel"), ("desktopcopy", "desktop-copy"), ("verdcit", "verdict")],
)
def test_a_word_typed_wrong_leads_to_the_right_one(word: str, meant: str):
    try:
        assert explain(word) == explain(meant)
    except UsageError as error:
        assert f"did you mean `{meant}`" in (error.hint or "")


def test_a_word_like_no_other_gets_no_wild_guess():
    with pytest.raises(UsageError) as raised:
        explain("quxzplon")
    assert raised.value.hint == "`seekwise explain` lists every word"
