"""Makes the figures of README and pages again: `python tools/figures.py [NAME…]`, or `make figures`.

Runs the checks named (all without a name), keeps what they print in docs/figures.json, with the model's version, and writes every block between
`<!-- figures: BLOCK -->` and `<!-- end of figures -->` anew. `--pages` writes the blocks alone. proof/tests/validate/test_figures.py fails when a
figure has changed, when a page differs from docs/figures.json, or when that was made with another model than the present one.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seekwise import _core, schedulers
from seekwise.report.content import Answer
from seekwise.report.tune_answer import answer_lines

ROOT = Path(__file__).parents[1]
STORED = ROOT / "docs" / "figures.json"
BLOCK = re.compile(r"(<!-- figures: (?P<name>[a-z0-9-]+) -->\n).*?(<!-- end of figures -->)", re.DOTALL)

Figure = dict[str, Any]

# name: words after `seekwise verify`, what is compared, with what.
CHECKS: dict[str, tuple[str, str, str]] = {
    "vectors": ("vectors tests/vectors", "scheduler decisions", "Linux 2.6.24 to 6.12"),
    "mapping": ("mapping tests/vectors/md tests/vectors/other-kernels", "RAID mapping", "md of Linux 6.1 and 6.12"),
    "machine": ("rates tests/vectors/machine", "rates of whole machines", "Linux 2.6.24, 2.6.32 and 4.4 on an exactly specified disk, within 15 %"),
    "many-cores": ("rates tests/vectors/nvme-many-cores", "schedulers on fast drives", "a study's 303 rows of an NVMe drive on 1 to 10 cores, ratios to none within 15 %"),
    "ladder": ("ladder tests/vectors/ladder", "rates over model drives", "Linux 5.10, 6.1 and 6.12 in the VM testbed, within 10 %"),
    "ladder-open": ("ladder tests/vectors/ladder-open", "the same, files and cached arrays", "Linux 6.1 in the VM testbed, within 10 %"),
    "ladder-unseen": ("ladder tests/vectors/ladder-unseen", "the same, combinations of no study", "Linux 6.1 in the VM testbed, within 10 %"),
    "gains-foretold": ("gains tests/reference/gains-foretold", "gains, foretold but for 32 in a guest", "measurements of others on arrays and in guests, within 10 %"),
    "gains-blind": ("gains tests/reference/gains-blind", "gains, 211 of them right before anybody had read them", "measurements of others by depth, level, layout, stripe cache and read-ahead, within 10 %"),
    "gains": ("gains tests/reference/arrays-and-queues", "gains on arrays and by depth", "published measurements of others, within 10 %"),
    "whatif": ("whatif tests/vectors/whatif", "a recorded load on other storage", "the same load run there in the VM testbed, rate within 10 %"),
    "drives": ("drives", "drives", "data sheets and reviews"),
    "ssd": ("rates tests/seeds/ssd_raid10_chunk.csv", "rates of an SSD RAID 10", "a publication's table, within 20 %"),
    "verdicts": ("verdicts", "winners in articles", "four publications"),
    "claims": ("claims", "claims in articles", "four publications"),
}  # fmt: skip
ARTICLE = ("A", "B", "D", "S1", "S5")
"""Systems of the 2008 article whose rates its page shows."""
FAST = ("mapping", "drives")
"""Checks of some seconds: the fast tests repeat them."""

EXAMPLES = {
    "show-read-ahead": "run read-ahead --backend simulated --target exos_x18 --seed 1",
    "show-raid-levels": "run raid-levels --seed 1",
    "show-queue-depth": "run queue-depth --backend simulated --target wd2500ys --seed 1",
    "show-demo": "run demo --seed 1",
}
"""Commands whose output pages show: {block: words after `seekwise`}."""
ANSWERS = ("article-2008", "nvme-page", "ssd-raid10-chunk", "tiobench-comparison")
"""Published studies whose pages say in what the run ends."""
READERS_KIB = (128, 512, 2560, 8192)
"""Read-ahead of the sequential readers on one disk."""
READERS = (
    # Readers, size of a read, size of each reader's file: over the whole disk, or files one behind the other.
    (1, "128 KiB", "1900g"),
    (8, "128 KiB", "1900g"),
    (8, "128 KiB", "475g"),
    (8, "128 KiB", "8g"),
    (8, "1 MiB", "1900g"),
    (8, "1 MiB", "475g"),
    (32, "128 KiB", "475g"),
    (32, "128 KiB", "8g"),
)
READERS_S = 120
"""Long enough: what 32 readers have read ahead and not yet read when it ends is up to a gigabyte with the longest window."""


def measure(name: str) -> Figure:
    """What the check says now, without what a page does not need."""
    if name in OTHERS:
        return OTHERS[name]()
    if name in EXAMPLES:
        return example(EXAMPLES[name])
    words = CHECKS[name][0].split()
    command = [sys.executable, "-m", "seekwise.cli.main", "verify", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode not in (0, 5):
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    document = json.loads(done.stdout)
    if broken := [each["misses"] for each in document["files"] if each.get("broken")]:
        raise SystemExit(f"{' '.join(command)}: {broken}")
    return trimmed(document, with_misses=name in ("claims", "verdicts", "ssd", "drives"))


def article() -> Figure:
    """Simulated rates [MB/s] of the 2008 article's systems: {system operation scheduler: by threads}, the means of five seeds."""
    from seekwise.store.operations import PURE_OPERATIONS
    from seekwise_papers.queries import Query
    from seekwise_papers.simulated import SimulatedResults

    source, threads = SimulatedResults(), (1, 2, 4, 8)
    names = [(s, o, e) for s in ARTICLE for o in PURE_OPERATIONS for e in ("deadline", "cfq")]
    values = iter(source.measure([Query("rate", *name, count) for name in names for count in threads]))
    rates = {" ".join(name): [next(values) for _ in threads] for name in names}
    return rounded({"model_version": _core.model_version(), "rates": rates})


def example(words: str) -> Figure:
    """What the command prints up to the next step, in 80 columns."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"SEEKWISE_DB": f"{folder}/records.db", "SEEKWISE_STATE": f"{folder}/state", "COLUMNS": "80"}
        command = [sys.executable, "-m", "seekwise.cli.main", *words.split()]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=folder, env={**os.environ, **own}, check=True
        )
    shown = done.stdout.partition("\nnext:")[0]
    return {"model_version": _core.model_version(), "shown": shown.strip().splitlines()}


def answers() -> Figure:
    """The answer of each published study's own run."""
    found = {}
    for name in ANSWERS:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "seekwise.cli.main"]
            told = [
                json.loads(
                    subprocess.run(
                        [*command, *words, "--json", "--db", f"{folder}/db"],
                        capture_output=True,
                        text=True,
                        cwd=folder,
                        check=True,
                    ).stdout
                )
                for words in (("run", name), ("published", "last"))
            ]
        advice = told[0]["advice"]
        found[name] = {"headline": advice["headline"], "reasons": [*advice["reasons"], *told[1]["conclusions"]]}
    return {"model_version": _core.model_version(), "answers": found}


def readers() -> Figure:
    """MB/s of sequential readers through the page cache of an Exos X18, {file system, readers, size of a read, of a file: by read-ahead}."""
    from seekwise.simulate.simulated import SimulatedBackend
    from seekwise.workload.study import planning
    from seekwise.workload.study.study import Study

    rates = {}
    for filesystem, (threads, block, size) in itertools.product(("xfs", "ext4"), READERS):
        load = {"block_bytes": block.split()[0] + block.split()[1][0].lower(), "threads": threads, "size": size}
        cached = {"direct": False, "memory_limit": "4g", "runtime": f"{READERS_S}s", "end_fsync": False}
        options = {"filesystem": filesystem}
        text = {
            "name": "readers",
            "backend": "simulated",
            "system": [{"name": "disk", "drive": "exos_x18", "kernel": "6.12", "options": options}],
            "settings": {"scheduler": ["mq-deadline"], "read_ahead_kb": list(READERS_KIB)},
            "workload": [{"operations": ["seq_read"], **cached, **load}],
            "design": {"blocks": 1, "control": False, "sentinel": False},
        }
        study, backend = Study.model_validate(text), SimulatedBackend()
        made = planning.make(study, backend.describe(study), seed=1)
        with backend.session(made, "figures", lambda _: None) as session:
            found = {
                int(record.factors["read_ahead_kb"]): record.phases[0].rate_bytes_per_s / 1e6
                for record in session.run(list(made.trials), {})
            }
        rates[f"{filesystem} | {threads} | {block} | {size.removesuffix('g')} GiB"] = [
            found[each] for each in READERS_KIB
        ]
    return rounded({"model_version": _core.model_version(), "rates": rates})


OTHERS: dict[str, Callable[[], Figure]] = {"article": article, "answers": answers, "readers": readers}
"""What no check of `verify` prints."""
NAMES = (*CHECKS, *OTHERS, *EXAMPLES)


def trimmed(document: Figure, *, with_misses: bool) -> Figure:
    kept = {key: document[key] for key in ("model_version", "passed", "total", "basis", "required", "met")}
    kept |= {key: document[key] for key in ("pairs", "agreement", "contested", "ordered") if key in document}
    kept["files"] = [
        {
            "file": Path(each["file"]).name,
            "passed": each["passed"],
            "total": each["total"],
            **{key: each[key] for key in ("pairs", "median_error", "largest_error") if key in each},
            **({"misses": each["misses"]} if with_misses else {}),
        }
        for each in document["files"]
    ]
    if len(kept["files"]) > 20:
        kept["files"] = []
    return rounded(kept)


def rounded(value: Any) -> Any:
    """Figures as a page prints them: a last bit that differs between machines is no change."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.3g}") if isinstance(value, float) else value


# --- blocks ----------------------------------------------------------------------------------------------------------


def of(count: Figure) -> str:
    return f"{count['passed']:,} of {count['total']:,}" if count["total"] else "–"


def stamp(stored: dict[str, Figure], *names: str) -> str:
    versions = sorted({stored[name]["model_version"] for name in names})
    return f"Made by `make figures` with `model_version` {', '.join(map(str, versions))}."


def accuracy(stored: dict[str, Figure]) -> str:
    """What agrees, what is required, and what it is worth."""
    lines = [
        "| What | Compared with | Agree | Required | Fitted | Chosen | Foretold | Command |",
        "|---|---|---:|---|---:|---:|---:|---|",
    ]
    for name, (words, what, against) in CHECKS.items():
        figure = stored[name]
        met = "met" if figure["met"] else "**missed**"
        shares = " | ".join(of(figure["basis"][each]) for each in ("fitted", "chosen", "foretold"))
        agree = of(figure)
        if figure.get("pairs", {}).get("total"):
            agree += f"; order of pairs {of(figure['pairs'])}"
        lines.append(
            f"| {what} | {against} | {agree} | {figure['required']}: {met} | {shares} | `seekwise verify {words}` |"
        )
    return "\n".join([*lines, "", stamp(stored, *CHECKS)])


def missed(name: str, *prefixes: str) -> Callable[[dict[str, Figure]], str]:
    """What a check misses, of rows that begin so."""

    def block(stored: dict[str, Figure]) -> str:
        figure = stored[name]
        rows = [str(each) for file in figure["files"] for each in file["misses"]]
        rows = [row for row in rows if not prefixes or row.startswith(prefixes)]
        said = [f"- `{row.partition(': ')[0]}`: {row.partition(': ')[2]}" for row in rows]
        heading = f"`seekwise verify {CHECKS[name][0]}`: {of(figure)} agree; missed of this publication: {len(rows)}."
        return "\n".join([f"{heading} {stamp(stored, name)}", "", *said])

    return block


def ssd_rates(stored: dict[str, Figure]) -> str:
    (file,) = stored["ssd"]["files"]
    errors = f"Median error {100 * file['median_error']:.2g} %, largest {100 * file['largest_error']:.2g} %."
    return f"{missed('ssd')(stored)}\n\n{errors}"


def agreement(*names: str) -> Callable[[dict[str, Figure]], str]:
    """Rows, and the errors of rate, mean access time and p99, of checks against the VM testbed."""

    def block(stored: dict[str, Figure]) -> str:
        lines = [
            "| Tables | Rows within 10 % | Rate | Mean access time | p99 | Same best setting |",
            "|---|---|---|---|---|---|",
        ]
        for name in names:
            figure = stored[name]
            known = {row["metric"]: row for row in figure["agreement"]}
            errors = [
                f"{100 * known[each]['median_error']:.1f} %, {100 * known[each]['p90_error']:.1f} %"
                for each in ("rate", "access_time", "p99")
            ]
            best = f"{known['rate']['same_best']} of {known['rate']['same_best_of']}"
            files = ", ".join(f"{Path(each['file']).stem} {of(each)}" for each in figure["files"])
            lines.append(f"| {files} | {of(figure)} | {' | '.join(errors)} | {best} |")
        return "\n".join([*lines, "", f"Errors are the median and the 90th percentile. {stamp(stored, *names)}"])

    return block


def whatif(stored: dict[str, Figure]) -> str:
    lines = ["| Predicted | Number | | rate | p50 | p99 | best scheduler within 5 % |", "|---|---|---|---|---|---|---|"]
    figure = stored["whatif"]["agreement"]
    parts = (
        ("other scheduler", figure["other_scheduler"]),
        ("other storage", figure["other_storage"]),
        ("all", figure),
    )
    for title, part in parts:
        for key, words in (("closed", "with dependencies"), ("open", "at recorded times")):
            row = part[key]
            errors = " | ".join(f"{100 * row[each]['median_error']:.1f} %" for each in ("rate", "p50", "p99"))
            lines.append(
                f"| {title} | {part['predictions']} | {words} | {errors} | {row['best_right']} of {row['best_of']} |"
            )
    return "\n".join([*lines, "", f"{of(stored['whatif'])} rates are within 10 %. {stamp(stored, 'whatif')}"])


def machines(stored: dict[str, Figure]) -> str:
    lines = ["| Table | Rows within 15 % | Pairs in order |", "|---|---:|---:|"]
    figure = stored["machine"]
    lines += [f"| {each['file']} | {of(each)} | {of(each['pairs'])} |" for each in figure["files"]]
    met = "met" if figure["met"] else "missed"
    return "\n".join([*lines, "", f"Required: {figure['required']} ({met}). {stamp(stored, 'machine')}"])


def shown(name: str) -> Callable[[dict[str, Figure]], str]:
    """A command and what it printed. The seed is left out: it is there for the same random numbers each time."""

    def block(stored: dict[str, Figure]) -> str:
        words = re.sub(r" --seed \d+", "", EXAMPLES[name])
        return "\n".join(["```text", f"$ seekwise {words}", *stored[name]["shown"], "```"])

    return block


def short(stored: dict[str, Figure]) -> str:
    """Rows for the first page, what was foretold first."""
    lines = ["| What | Compared with | Agree |", "|---|---|---:|"]
    for name in ("gains-blind", "gains-foretold", "vectors", "ladder", "many-cores"):
        _, what, against = CHECKS[name]
        lines.append(f"| {what} | {against} | {of(stored[name])} |")
    return "\n".join(lines)


def article_rates(stored: dict[str, Figure]) -> str:
    """deadline and cfq at 1, 2, 4 and 8 threads."""
    titles = ("seq_read", "seq_write", "rand_read", "rand_write")
    lines = [f"| System, scheduler | {' | '.join(titles)} |", "|---|---|---|---|---|"]
    rates = stored["article"]["rates"]
    for system in ARTICLE:
        for scheduler in ("deadline", "cfq"):
            cells = [", ".join(f"{each:.3g}" for each in rates[f"{system} {name} {scheduler}"]) for name in titles]
            lines.append(f"| {system}, {scheduler} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", stamp(stored, "article")])


def answer(study: str, *, with_reasons: bool = False) -> Callable[[dict[str, Figure]], str]:
    """What a published study's run says at its end."""

    def block(stored: dict[str, Figure]) -> str:
        said = stored["answers"]["answers"][study]
        lines = [f"    {line}" for line in (said["headline"], *(said["reasons"] if with_reasons else ()))]
        return "\n".join([*lines, "", stamp(stored, "answers")])

    return block


def reader_rates(stored: dict[str, Figure]) -> str:
    lines = [
        f"| File system | Readers | Read | File of each | {' | '.join(f'{each} KiB' for each in READERS_KIB)} |",
        f"|---|---:|---:|---:|{'---:|' * len(READERS_KIB)}",
    ]
    for name, rates in stored["readers"]["rates"].items():
        lines.append(f"| {name} | {' | '.join(f'{each:.3g}' for each in rates)} |")
    return "\n".join([*lines, "", f"MB/s by read-ahead. {stamp(stored, 'readers')}"])


def buffered(stored: dict[str, Figure]) -> str:
    lines = ["| Table | Rows within 10 % in rate |", "|---|---:|"]
    files = [each for name in ("ladder", "ladder-open") for each in stored[name]["files"]]
    lines += [f"| {each['file']} | {of(each)} |" for each in files if each["file"].startswith("buffered")]
    return "\n".join([*lines, "", stamp(stored, "ladder", "ladder-open")])


MEASURED = ROOT / "benches/results/tune2-11-4.json"
PICTURE = ROOT / "docs/assets/answer.svg"
PAIRS = (
    ("commands-copy", "time", "Short command during a copy"),
    ("commands-copy", "background_done", "the copy meanwhile"),
    ("commands-readers", "time", "Short command next to 4 readers"),
    ("commands", "time", "Short command alone"),
    ("long-readers", "files_time", "Small files, next to 4 readers"),
    ("streams", "done", "Streams of large files"),
)
"""What the first page shows of a measured run: figures of both sides of the choice."""
ROOM, BAR, STEP, WIDE = 250, 11, 38, 300


def measured_answer(stored: dict[str, Figure]) -> str:
    """The answer of a measured run, and its picture."""
    found = json.loads(MEASURED.read_text())
    lines = answer_lines([Answer(each["what"], each["effects"]) for each in found["answers"]], 80)
    return "\n".join([
        "```text", "$ sudo seekwise tune /srv", *lines, "```", "",
        "![Each figure under mq-deadline, which was in force, and under bfq](docs/assets/answer.svg)",
    ])  # fmt: skip


def picture() -> str:
    """Bars of each figure under the setting in force and under the one advised for programs that a person waits for."""
    found = json.loads(MEASURED.read_text())
    advised = next(each["setting"] for each in found["purposes"] if each["purpose"] == "responsive")
    names = (found["in_force"], advised)
    colours = [schedulers.registry()[name].colour for name in names]
    height = 30 + STEP * len(PAIRS)
    made = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{ROOM + WIDE + 150}" height="{height}" font-family="system-ui, sans-serif" font-size="13">',
        (
            f'<rect width="100%" height="100%" fill="#fff"/><rect x="{ROOM}" y="8" width="11" height="11" fill="{colours[0]}"/>'
            f'<text x="{ROOM + 16}" y="18">{names[0]} (in force)</text>'
            f'<rect x="{ROOM + 170}" y="8" width="11" height="11" fill="{colours[1]}"/><text x="{ROOM + 186}" y="18">{names[1]} (expected)</text>'
        ),
    ]
    for row, (use, metric, title) in enumerate(PAIRS):
        entry = next(each for each in found["uses"] if (each["use"], each["metric"]) == (use, metric))
        known = {each["setting"]: each for each in entry["candidates"]}
        # Of the other setting what is to be expected, as the headline says it.
        values = {name: known[names[0]]["value"] * known[name]["ratio"] for name in names}
        most, unit = max(values[name] for name in names), entry["value_unit"].removeprefix("/s") or "per second"
        better = "less is better" if unit == "ms" else "more is better"
        top = 30 + STEP * row
        made.append(
            f'<text x="{ROOM - 10}" y="{top + 12}" text-anchor="end">{title}</text>'
            f'<text x="{ROOM - 10}" y="{top + 25}" text-anchor="end" fill="#667" font-size="10">{unit}, {better}</text>'
        )
        for place, (name, colour) in enumerate(zip(names, colours, strict=True)):
            wide, y = WIDE * values[name] / most, top + place * (BAR + 2)
            made.append(
                f'<rect x="{ROOM}" y="{y + 2}" width="{wide:.0f}" height="{BAR}" fill="{colour}"/>'
                f'<text x="{ROOM + wide + 6:.0f}" y="{y + 12}" font-size="12">{values[name]:,.0f} {unit}</text>'
            )
    return "\n".join([*made, "</svg>"]) + "\n"


BLOCKS: dict[str, Callable[[dict[str, Figure]], str]] = {
    "accuracy": accuracy,
    "accuracy-short": short,
    "article-rates": article_rates,
    "article-verdicts": missed("verdicts"),
    "article-claims": missed("claims", "hw", "sw", "method", "model", "drives", "disk", "ncq", "close", "same"),
    "ssd-claims": missed("claims", "ssd"),
    "ssd-rates": ssd_rates,
    "hu-claims": missed("claims", "hu"),
    "lw-claims": missed("claims", "lw"),
    "ladder": agreement("ladder", "ladder-open", "ladder-unseen"),
    "whatif": whatif,
    "machine": machines,
    **{name: shown(name) for name in EXAMPLES},
    "measured-answer": measured_answer,
    "readers": reader_rates,
    "drive-misses": missed("drives"),
    "ladder-buffered": buffered,
    "article-answer": answer("article-2008"),
    "lw-answer": answer("nvme-page"),
    "ssd-answer": answer("ssd-raid10-chunk"),
    "hu-answer": answer("tiobench-comparison", with_reasons=True),
}


def pages() -> list[Path]:
    return [
        ROOT / "README.md",
        *sorted(page for folder in ("docs", "proof/docs", "papers/docs") for page in (ROOT / folder).rglob("*.md")),
    ]


def rendered(text: str, stored: dict[str, Figure]) -> str:
    """A page with every block as the stored figures have it."""
    return BLOCK.sub(lambda found: f"{found[1]}{BLOCKS[found['name']](stored)}\n{found[3]}", text)


def load() -> dict[str, Figure]:
    return dict(json.loads(STORED.read_text())) if STORED.exists() else {}


def main(words: list[str]) -> None:
    if unknown := set(words) - {*NAMES, "--pages"}:
        usage = f"{(__doc__ or '').rstrip()}\n\nNames: {', '.join(NAMES)}"
        sys.exit(
            usage if unknown <= {"-h", "--help"} else f"no figure is called {', '.join(sorted(unknown))}\n\n{usage}"
        )
    stored = load()
    wanted = [] if words == ["--pages"] else words or list(NAMES)
    for name in wanted:
        stored[name] = measure(name)
        print(f"{name}: {of(stored[name]) if 'total' in stored[name] else 'done'}", flush=True)
        ordered = {each: stored[each] for each in NAMES if each in stored}
        STORED.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(), encoding="utf-8")
    for path in pages():
        text = path.read_text()
        if (made := rendered(text, stored)) != text:
            path.write_text(made)
            print(path.relative_to(ROOT))
    old = [name for name, each in stored.items() if each["model_version"] != _core.model_version()]
    if old:
        print(f"of an older model: {', '.join(old)}")


if __name__ == "__main__":
    main(sys.argv[1:])
