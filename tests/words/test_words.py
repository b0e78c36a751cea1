"""What a person reads says the standard terms: the project's own old words stay out of messages, help and explanations."""

from __future__ import annotations

import re

import pytest
from tests.words import visible

from seekwise.report.explain import program

# Old word: where it is right all the same (a block device, the `--fault` of a drive, a name in backquotes).
OLD = {
    r"cells?": r"/cell/|\[\[cell\]\]|^cell {}$",
    r"sentinels?": None,
    r"rungs?": None,
    r"puts? back": None,
    r"badges?": None,
    r"laborator(y|ies)": r"host-laboratory",
    r"whole runs?": None,
    r"foresight": None,
    r"run wish(es)?|wish(es)? of": None,
    r"hand(s|ed|ing)? out": None,
    r"stands? apart": None,
    r"seed claims?": None,
    r"judge[ds]?|judg(e?ment|ing)s?": r"judge = |needs `judge`",
    r"beside(?! it\b| them\b)": r"no parameters beside it|must lie beside it",
    r"ladder": None,
    r"(do|does|did) not count": None,
    r"as such|so many|by that|is through|has come": None,
    r"nobody|whoever": None,
    r"decides? nothing": None,
    r"A/A control": None,
    r"further blocks?|blocks? would": None,
    r"\d blocks|\{\} blocks?\b(?! (of|from))|over blocks|block \{\} of": r"unpacks|blocks from \{\}",
    r"carr(y|ies|ied) out": None,
}
CODE = re.compile(r"`[^`]*`|/sys/\S+|/proc/\S+")


@pytest.mark.parametrize("old", OLD)
def test_old_words_stay_out_of_what_a_person_reads(old: str):
    pattern = re.compile(rf"(?<![\w/-])(?:{old})(?![\w(=-])", re.IGNORECASE)
    allowed = re.compile(OLD[old]) if OLD[old] else None
    found = []
    for place, text in visible.strings():
        if allowed and allowed.search(text):
            continue
        if hit := pattern.search(CODE.sub("", text)):
            found.append(f"{place}: {hit[0]!r} in {' '.join(text.split())[:170]}")
    assert not found, "\n".join(found)


def test_a_summary_of_a_command_fits_its_line():
    for name, command in program.commands().items():
        summary = command.get_short_help_str(62)
        assert summary and not summary.endswith("..."), f"{name}: {summary}"


def test_a_help_text_is_a_sentence():
    for name, texts in program.options().items():
        for text in texts.values():
            assert not text or (text[0].isupper() or text[0] in "`-") and text.endswith((".", ":")), f"{name}: {text}"
