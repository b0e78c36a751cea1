"""Each version of physics and of verdicts has its line in the changelog and explains itself in docs/history/."""

from __future__ import annotations

import re
from pathlib import Path

from seekwise import _core
from seekwise.judge.rule import RULE_VERSION

ROOT = Path(__file__).resolve().parents[2]
HISTORY = ROOT / "docs" / "history"
TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def history(name: str) -> str:
    return (HISTORY / name).read_text(encoding="utf-8")


def test_each_model_version_has_its_line_its_row_and_its_section():
    pages = history("model-versions.md")
    versions = range(1, _core.model_version() + 1)
    assert [each for each in versions if not re.search(rf"^- \[?{each}\]?[:(]", TEXT, re.MULTILINE)] == []
    assert [each for each in versions if not re.search(rf"^\| {each} \|", pages, re.MULTILINE)] == []
    # Of the first ones a paragraph in one section.
    part = r"^(## Version {0}\b|- \*\*{0}\.\*\* )"
    assert [each for each in versions if not re.search(part.format(each), pages, re.MULTILINE)] == []


def test_the_rule_of_verdicts_in_force_has_its_line_its_row_and_its_section():
    page = history("decision-rules.md")
    assert f"- Verdicts, {RULE_VERSION}: " in TEXT
    assert f"| all runs | {RULE_VERSION} |" in page
    assert f"## Version {RULE_VERSION}\n" in page


def test_links_lead_to_pages():
    assert not [each for each in re.findall(r"\]\(([^)#]+)", TEXT) if not (ROOT / each).is_file()]
