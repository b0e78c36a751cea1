"""Short explanations of the words on a page, from the texts of `seekwise explain`: a reader of the page may not have
the program."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from seekwise.errors import SeekwiseError
from seekwise.report.explain import explain
from seekwise.report.looks import scheduler_of

MEASURED = ("throughput", "latency", "p99", "cpu efficiency", "confidence interval")
ALWAYS = (*MEASURED, "simulated")
SENTENCES = 2
RAID = re.compile(r"RAID (0|1|4|5|6|10)\b")


@dataclass(frozen=True)
class Term:
    anchor: str
    word: str
    text: str


def terms(labels: Iterable[str], more: Iterable[str] = ()) -> list[Term]:
    """Schedulers and RAID levels among the labels, then the words of every page; what has no text is left out."""
    words: dict[str, None] = {}
    for label in labels:
        if (name := scheduler_of(label)) is not None:
            words[name] = None
        for level in RAID.findall(label):
            words[f"RAID {level}"] = None
    entries: dict[str, Term] = {}
    for word in (*words, *more):
        try:
            known = explain(word)
        except SeekwiseError:
            continue
        text = _first_sentences(known.text)
        # Two words may have one text: it stands once.
        if text and all(text != term.text for term in entries.values()):
            entries[word] = Term(anchor(word), word, text)
    return list(entries.values())


def anchor(word: str) -> str:
    """`term-raid-5`"""
    return "term-" + re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")


def anchors(entries: Iterable[Term], labels: Iterable[str]) -> dict[str, str]:
    """{label: anchor} of labels that a term explains."""
    known = {term.word: term.anchor for term in entries}
    made = {}
    for label in labels:
        level = RAID.search(label)
        word = scheduler_of(label) or (level[0] if level else "")
        if word in known:
            made[label] = known[word]
    return made


def _first_sentences(text: str) -> str:
    paragraph = next((word for word in text.split("\n\n") if word.strip() and "   " not in word.strip()), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph.replace("`", "").replace("**", ""))
    plain = " ".join(plain.split())
    pieces = re.split(r"(?<=[.!?])\s+(?=[A-Z])", plain)
    return " ".join(pieces[:SENTENCES])
