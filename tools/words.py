"""What a person reads, looked over once by `make check`: the project's own old words, lengths of pages and entries, sentences of help.

Prints what is to be mended and ends with status 1; nothing here is a test.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from visible import strings

from seekwise import core
from seekwise.judge.rule import RULE_VERSION
from seekwise.report.explain import program

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [
        ROOT / "README.md",
        *(page for folder in ("docs", "proof/docs", "papers/docs") for page in (ROOT / folder).rglob("*.md")),
    ]
)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```|((?:^ {4}\S.*\n)+)", re.MULTILINE | re.DOTALL)
FIGURES = re.compile(r"<!-- figures: .*?<!-- end of figures -->", re.DOTALL)
LINES_MOST = {"README.md": 130, "what-it-is-for.md": 130, "model-versions.md": 140}
PAGE_LINES_MOST = 110
WORDS_MOST = 31_000
ENTRY_CHARACTERS_MOST = 160
SUMMARY_CHARACTERS_MOST = 62
# Old word: where it is right all the same (a block device, the `--fault` of a drive, a name in backquotes).
OLD: dict[str, str | None] = {
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
    r"\d blocks|\{\} blocks?\b(?! (of|from|devices))|over blocks|block \{\} of": r"unpacks|blocks from \{\}",
    r"carr(y|ies|ied) out": None,
}
CODE = re.compile(r"`[^`]*`|/sys/\S+|/proc/\S+")


def read_texts() -> Iterator[tuple[str, str]]:
    """(place, text) of pages, changelog and program, without what stands in backquotes."""
    for page in [*PAGES, ROOT / "CHANGELOG.md"]:
        text = BLOCK.sub(lambda block: "\n" * block[0].count("\n"), page.read_text(encoding="utf-8"))
        for number, line in enumerate(text.splitlines(), 1):
            yield f"{page.relative_to(ROOT)}:{number}", re.sub(r"`[^`]*`|\]\([^)]*\)", "", line)
    for place, text in strings():
        yield place, text


def old_words() -> Iterator[str]:
    """Where an old word stands."""
    texts = list(read_texts())
    for old, right in OLD.items():
        pattern = re.compile(rf"(?<![\w/-])(?:{old})(?![\w(=-])", re.IGNORECASE)
        for place, text in texts:
            if right and re.search(right, text):
                continue
            if hit := pattern.search(CODE.sub("", text)):
                yield f"{place}: {hit[0]!r} in {' '.join(text.split())[:120]}"


def lengths() -> Iterator[str]:
    """What is too long."""
    for page in PAGES:
        lines = len(page.read_text(encoding="utf-8").splitlines())
        if "papers" not in page.parts and lines > LINES_MOST.get(page.name, PAGE_LINES_MOST):
            yield f"{page.relative_to(ROOT)}: {lines} lines"
    words = sum(len(FIGURES.sub("", page.read_text(encoding="utf-8")).split()) for page in PAGES)
    if words > WORDS_MOST:
        yield f"pages: {words} words together, {WORDS_MOST} at most"
    for number, line in enumerate((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("- ") and len(line) > ENTRY_CHARACTERS_MOST:
            yield f"CHANGELOG.md:{number}: {len(line)} characters"


def versions() -> Iterator[str]:
    """Versions of physics without their row and section in `proof/docs/`, and those of verdicts without these or their line in the changelog."""
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    models, rules = (
        (ROOT / "proof/docs" / name).read_text(encoding="utf-8") for name in ("model-versions.md", "decision-rules.md")
    )
    for each in range(1, core.model_version() + 1):
        row = re.search(rf"^\| {each} \|", models, re.MULTILINE)
        if not row or not re.search(rf"^(## Version {each}\b|- \*\*{each}\.\*\* )", models, re.MULTILINE):
            yield f"model_version {each}: row and section in proof/docs/model-versions.md"
    if f"`model_version` {core.model_version()};" not in log:
        yield f"CHANGELOG.md: `model_version` {core.model_version()}; under Results"
    if not (
        f"- Verdicts, {RULE_VERSION}: " in log
        and f"| all runs | {RULE_VERSION} |" in rules
        and f"## Version {RULE_VERSION}\n" in rules
    ):
        yield f"rule_version {RULE_VERSION}: line in CHANGELOG.md, row and section in proof/docs/decision-rules.md"


def helps() -> Iterator[str]:
    """Summaries that do not fit their line, and help that is no sentence."""
    for name, command in program.commands().items():
        summary = command.get_short_help_str(SUMMARY_CHARACTERS_MOST)
        if not summary or summary.endswith("..."):
            yield f"{name}: {summary}"
        for text in (each.help for each in command.params if isinstance(each, click.Option)):
            if text and not ((text[0].isupper() or text[0] in "`-") and text.endswith((".", ":"))):
                yield f"{name}: {text}"


def main() -> int:
    found = [*old_words(), *lengths(), *versions(), *helps()]
    print("\n".join(found) if found else "words and lengths are right")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
