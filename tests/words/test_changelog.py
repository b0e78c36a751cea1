"""The changelog is short and true: one line an entry, and each version of physics and of verdicts explains itself in docs/history/."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from tests.words.test_words import OLD

from seekwise import _core
from seekwise.judge.rule import RULE_VERSION

ROOT = Path(__file__).resolve().parents[2]
HISTORY = ROOT / "docs" / "history"
TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
GROUPS = ["Results", "Features", "Fixes", "Internals"]
ENTRY_CHARACTERS_MAX = 160


def releases() -> dict[str, str]:
    """{heading: text} of each release, the newest first."""
    parts = re.split(r"^## (.*)\n", TEXT, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def entries() -> list[str]:
    return re.findall(r"^- .*", "\n".join(releases().values()), re.MULTILINE)


def history(name: str) -> str:
    return (HISTORY / name).read_text(encoding="utf-8")


def test_what_is_not_released_stands_first_and_releases_have_a_date():
    first, *others = releases()
    assert first == "Unreleased"
    assert others and all(re.fullmatch(r"\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\)", each) for each in others)


@pytest.mark.parametrize("release", releases())
def test_a_release_has_the_four_groups_in_order(release: str):
    text = releases()[release]
    found = re.findall(r"^### (.*)", text, re.MULTILINE)
    assert set(found) <= set(GROUPS)
    assert all(GROUPS.index(one) < GROUPS.index(other) for one, other in pairwise(found))


def test_an_entry_is_one_short_line():
    assert entries()
    assert not [each for each in entries() if len(each) > ENTRY_CHARACTERS_MAX]
    assert not re.findall(r"^- .*\n {2,}\S.*", TEXT, re.MULTILINE), "an entry goes on in the next line"


def test_entries_say_the_standard_words():
    plain = [re.sub(r"`[^`]*`|\]\([^)]*\)", "", each) for each in entries()]
    assert not [(old, each) for old in OLD for each in plain if re.search(rf"(?<![\w/-])(?:{old})(?![\w(=-])", each)]


def test_each_model_version_has_its_line_its_row_and_its_section():
    pages = history("model-versions.md")
    versions = range(1, _core.model_version() + 1)
    assert [each for each in versions if not re.search(rf"^- \[?{each}\]?[:(]", TEXT, re.MULTILINE)] == []
    assert [each for each in versions if not re.search(rf"^\| {each} \|", pages, re.MULTILINE)] == []
    assert [each for each in versions if not re.search(rf"^## Version {each}\b", pages, re.MULTILINE)] == []


def test_the_rule_of_verdicts_in_force_has_its_line_its_row_and_its_section():
    page = history("decision-rules.md")
    assert f"- Verdicts, {RULE_VERSION}: " in TEXT
    assert f"| all runs | {RULE_VERSION} |" in page
    assert f"## Version {RULE_VERSION}\n" in page


def test_links_lead_to_pages():
    assert not [each for each in re.findall(r"\]\(([^)#]+)", TEXT) if not (ROOT / each).is_file()]
