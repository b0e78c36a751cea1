"""Explanations: every word leads somewhere, and numbers come from where they are in force."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from seekwise import _core
from seekwise.cli.explain import command
from seekwise.errors import UsageError
from seekwise.explain import explain, words


def test_every_word_is_explained_and_every_reference_leads_somewhere():
    for word in words():
        explanation = explain(word)
        assert explanation.title and (explanation.text or explanation.tables), word
        for other in explanation.see:
            assert explain(other).title, f"{word} leads to {other}"


def test_every_scheduler_is_explained_with_its_tunables():
    for scheduler in json.loads(_core.schedulers("6.1"))["schedulers"]:
        explanation = explain(scheduler["name"])
        assert len(explanation.text) > 200, scheduler["name"]
        names = {row["name"] for row in explanation.tables.get("tunables", ())}
        if scheduler["available"]:
            assert names == {tunable["name"] for tunable in scheduler["tunables"] if tunable["available"]}


def test_a_model_is_shown_with_source_and_confidence_of_each_number():
    rows = {row["name"]: row for row in explain("wd2500ys").tables["parameters"]}
    assert rows["spt_outer"]["value"] == 1116
    assert rows["spt_outer"]["confidence"] == "review"
    assert "Wong" in rows["spt_outer"]["source"]
    assert all(row["source"] and row["confidence"] for row in rows.values())


@pytest.mark.parametrize(
    ("word", "title"),
    [
        ("queue depth", "queue_depth"),
        ("I/O priority", "I/O priority"),
        ("tagged command queueing", "TCQ"),
        ("ST-225", "Seagate ST-225"),
        ("what the drive and kernel".replace("what the ", ""), "What a drive"),
        ("writes_starved", "writes_starved"),
    ],
)
def test_other_names_lead_to_the_same_text(word: str, title: str):
    assert explain(word).title.startswith(title)


@pytest.mark.parametrize(
    ("word", "meant"), [("kyberr", "kyber"), ("exos_x81", "exos_x18"), ("queue_dept", "queue_depth")]
)
def test_an_unknown_word_gets_a_suggestion(word: str, meant: str):
    with pytest.raises(UsageError) as raised:
        explain(word)
    assert f"did you mean `{meant}`" in (raised.value.hint or "")


def test_capacity_grew_by_a_factor_that_access_time_did_not():
    text = explain("capacity-and-access").text
    assert "{capacity_table}" not in text
    last = next(line for line in text.splitlines() if line.startswith("2020"))
    assert "840,666 x" in last
    assert "8.4 x" in last


def test_the_command_prints_one_json_document():
    result = CliRunner().invoke(command, ["ncq", "--json"])
    document = json.loads(result.output)
    assert document["schema"] == "seekwise.explain/1"
    assert "tcq" in document["see"]
