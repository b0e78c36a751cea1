"""Controllers in words."""

from __future__ import annotations

import pytest

from seekwise import _core
from seekwise.report.explain import explain, words


@pytest.mark.parametrize("name", _core.controller_models())
def test_every_number_of_a_controller_says_what_it_rests_on(name):
    found = explain(name)
    assert found.kind == "model"
    assert {row.confidence for row in found.parameters} <= {
        "fact",
        "worked out",
        "assumed",
        "set from a result",
    }
    for row in found.parameters:
        assert row.source
        if row.confidence in ("assumed", "set from a result"):
            assert row.low <= row.value <= row.high
        if row.confidence == "set from a result":
            assert "set from " in row.source


def test_a_card_is_found_by_the_name_on_its_box_and_tells_its_facts():
    for word in ("9650SE-2LP", "9650se-2lp", "3ware_9650se_2lp", "9650-2LP"):
        found = explain(word)
        assert found.title == "3ware 9650SE-2LP"
        assert {"bus", "driver", "memory", "firmware", "mode"} <= {fact.name for fact in found.facts}


def test_controllers_are_among_the_words_and_kinds_of_storage_have_one():
    assert {"fake_raid_board", "megaraid_9460_8i", "hardware-raid", "fake-raid", "storage-kinds"} <= set(words())
    assert "NAS" in explain("SAN").text
    assert explain("fake raid").kind in ("term", "model")
