"""Many settings in few words."""

from __future__ import annotations

from itertools import product

from seekwise.judge.naming import pieces

ALL = [
    " ".join(words)
    for words in product(["raid5", "raid10"], ["drives=4", "drives=6"], ["bfq", "mq-deadline"], ["1", "31"])
]


def standing_for(words: str) -> set[str]:
    return {name for name in ALL if set(words.split()) <= set(name.split())}


def test_what_all_members_share_and_no_other_has_names_them():
    members = [name for name in ALL if "raid10 drives=6" in name]
    assert pieces(members, ALL) == ["raid10 drives=6"]


def test_pieces_stand_for_the_members_and_nothing_else():
    members = [name for name in ALL if "drives=6" in name or name.endswith("bfq 31")]
    found = pieces(members, ALL)
    assert len(found) < 4
    assert set().union(*map(standing_for, found)) == set(members)


def test_names_of_one_word_stay_as_they_are():
    assert pieces(["noop", "deadline"], ["noop", "deadline", "cfq"]) == ["noop", "deadline"]


def test_settings_without_anything_in_common_are_named_or_counted():
    members = ALL[:1] + ALL[5:6] + ALL[10:11]
    assert pieces(members, ALL) == members
    many = [name for i, name in enumerate(ALL) if i.bit_count() % 2]
    found = pieces(many, ALL)
    assert len(found) == 8
    odd = [f"a={i} b={j}" for i in range(12) for j in range(12)]
    spread = [f"a={i} b={i}" for i in range(12)]
    assert pieces(spread, odd)[-1] == "5 more"


def test_all_of_many_are_all():
    assert pieces(ALL, ALL) == ["all 16"]
