"""The answer on a terminal: winner table and recommendation, readable without colour and at 80 columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from rich.console import Console
from rich.table import Table

from seekwise.judge import arrays
from seekwise.judge.arrays import ArrayRow
from seekwise.number_text import plain_settings, three
from seekwise.report import by_system, tune_answer
from seekwise.report.by_system import SystemRow
from seekwise.report.content import ReportContent
from seekwise.report.layout import (
    WIDTH,
    columns,
    common_parts,
    joined,
    own_parts,
    plain_table,
    print_columns,
    print_lines,
    say,
    wrapped,
)
from seekwise.report.rows import summary_rows, trial_rows, varied_dimensions
from seekwise.simulate.gain_error import gain_error
from seekwise.store import operations
from seekwise.workload.study.quantity import size_word


def print_arrays(content: ReportContent, console: Console, *, room: int, everything: bool = False) -> int:
    """What each array offers and survives, beside the best rate that it gave; how many of `room` lines are left.

    Without room, further loads are shown of fewer arrays: of the one that is chosen in any case. `everything`: also with
    a drive missing and while it is rebuilt.
    """
    # Where every array lacks a drive, that is what was asked.
    shown = [row for row in content.arrays if everything or not row.is_degraded] or content.arrays
    names = arrays.operations(shown)
    # Arrays that did not all do the same loads show what each did.
    loads = arrays.by_load(shown) or [{}]
    common = common_parts([row.name for row in shown])
    # Beside a load it takes several times as long: that tells arrays apart.
    is_loaded = any(row.rebuild_loaded_s is not None for row in shown)
    heads = [
        "Array",
        "Capacity",
        "Survives",
        "Rebuild busy" if is_loaded else "Rebuild alone",
        *(operations.name(name).replace("Sequential", "Seq.") for name in names),
    ]
    body: list[list[str]] = []
    whose: list[ArrayRow | None] = []
    for place, keys in enumerate(loads):
        # Rows of failed drives did only the load of most requests at once.
        best = {operation: " ".join(("", row.best[operation][1])) for row in shown for operation in row.best}
        threads = [arrays.threads_text(keys.get(operation) or best.get(operation, "")) for operation in names]
        if place == 0 and len(set(threads)) == 1 and threads[0]:
            heads[0] = f"{threads[0]} thread{'' if threads[0] == '1' else 's'}"
        elif any(threads):
            body.append(["Threads", "", "", "", *threads])
            whose.append(None)
        for row in shown:
            facts = (
                (row.capacity_text, row.survives_text, row.loaded_text if is_loaded else row.rebuild_text)
                if place == 0
                else ("", "", "")
            )
            rates = [_throughput_text(row, operation, keys.get(operation)) for operation in names]
            body.append([own_parts(row.name, common), *facts, *rates])
            whose.append(row if place else None)
    says_common = common and (everything or any(word not in content.advice.headline for word in common))
    words = [f"Each: {', '.join(common)}" if says_common else ""]
    spread = max((spread for row in shown for spread in row.spreads.values()), default=0.0)
    varies = f"~: repeats ±{100 * spread:.0f} %" if spread > gain_error(("raid_level",)) else ""
    words.append(
        "; ".join(word for word in ("MB/s", arrays.sizes_text(shown).replace("sequential", "seq."), varies) if word)
    )
    is_alike = all(row.loaded_text == row.rebuild_text for row in shown)
    alone = "; alone it takes as long" if is_alike else f". {arrays.alone_text(shown)}"
    words.append(f"Rebuild busy: with database transactions{alone}" if is_loaded else "")
    words.append(arrays.rows_note(shown).rstrip(".") if everything else "")
    caption = f"{'. '.join(word for word in words if word)}."
    left = room - 1 - sum(map(len, columns(heads, body, WIDTH))) - len(wrapped(caption, WIDTH))
    if left < 0 and len(loads) > 1 and not everything:
        left += len(wrapped(caption, WIDTH))
        caption += " More rows with `--all`."
        left -= len(wrapped(caption, WIDTH))
        # One that survives no failure is missed least.
        chosen = set(content.advice.recommended)
        is_other = [chosen.isdisjoint(label for label, _ in row.best.values()) for row in shown]
        order = sorted(zip(is_other, shown, strict=True), key=lambda pair: (pair[0], pair[1].survives_failures == 0))
        kept = [row for _, row in order[: max(1, len(shown) + left // (len(loads) - 1))]]
        body = [cells for cells, row in zip(body, whose, strict=True) if row is None or row in kept]
        left = 0
    console.print()
    print_columns(heads, body, console, numbers_from=4)
    print_lines([caption], console, style="dim")
    return left


def _throughput_text(row: ArrayRow, operation: str, load: str | None) -> str:
    if load is None or load not in row.combination_throughputs:
        return three(row.rates_mb_s.get(operation))
    mark = "~" if row.spreads.get(load, 0.0) > gain_error(("raid_level",)) else ""
    return f"{mark}{three(row.combination_throughputs[load])}"


def print_systems(rows: Sequence[SystemRow], settings: Sequence[str], console: Console, *, lines_most: int) -> None:
    """The value of every setting: a block for each operation, a row for each system; at most so many lines of both."""
    body: list[list[str]] = []
    left = 0
    for what in dict.fromkeys(row.what for row in rows):
        mine = [row for row in rows if row.what == what]
        # A heading needs a row below it.
        room = max(0, lines_most - len(body) - 1)
        if room:
            body.append([what, *("" for _ in settings)])
            body += [[f"{INDENT}{row.system}", *(row.text(setting) for setting in settings)] for row in mine[:room]]
        left += max(0, len(mine) - room)
    heads = ["", *(plain_settings(setting) for setting in settings)]
    console.print()
    print_columns(heads, body, console, numbers_from=1)
    if left:
        print_lines([f"{left} more rows with `--all`."], console, style="dim")


INDENT = "\N{NO-BREAK SPACE}" * 2
"""Kept where lines are wrapped."""


def print_findings(content: ReportContent, console: Console) -> None:
    """What the numbers say, a paragraph each."""
    if content.findings:
        console.print("\nInsights, strongest first", style="bold")
        print_lines([plain_settings(finding.text) for finding in content.findings], console, indent="  ")


ROW_LINES_MOST = 11
"""Lines of the answer's table between a headline of `HEADLINE_LINES` and cautions of `CAUTION_LINES`: with what stands around them a screen of 24
lines."""
SYSTEM_LINES_MOST = 13
"""The same of the table of several systems, whose reasons stand behind `--all`."""
HEADLINE_LINES, CAUTION_LINES = 2, 4
REASONS_MOST = 6


def print_answer(content: ReportContent, console: Console, *, everything: bool = False) -> None:
    """The answer first: headline, the values of both sides, reasons, and the lines that set and undo it."""
    advice = content.advice
    print_lines([advice.headline], console, style="bold")
    below = sum(len(wrapped(text, WIDTH, "  ")) for text in advice.caution)
    over = max(0, len(wrapped(advice.headline, WIDTH)) - HEADLINE_LINES) + max(0, below - CAUTION_LINES)
    room = 10**6 if everything else ROW_LINES_MOST - over
    rows = tune_answer.row_lines(content.question, room, WIDTH, every=everything) if content.question else []
    if rows:
        console.print()
        for line in rows:
            console.print(line, highlight=False, markup=False)
    shown: Sequence[str] = advice.reasons if everything or not content.question else ()
    systems = by_system.rows_of(content)
    if systems:
        rows = [""]
        above = len(wrapped(advice.headline, WIDTH)) - HEADLINE_LINES
        most = 10**6 if everything else SYSTEM_LINES_MOST - above
        print_systems(systems, by_system.settings_of(content), console, lines_most=most)
        shown = shown if everything else []
    if content.table:
        room = _print_question_table(content, console, everything=everything)
        shown = shown if everything else _fitting(shown, room)
        rows = [""]
    elif content.arrays and (everything or len(content.arrays) >= len(content.systems)):
        texts = [advice.headline, *advice.caution, *advice.set_lines, *advice.undo_lines]
        # No blank line stands below it.
        room = SCREEN_LINES - QUESTION_FRAME_LINES + 2 - sum(len(wrapped(text, WIDTH, "  ")) for text in texts)
        room = print_arrays(content, console, room=room, everything=everything)
        shown = shown if everything else _fitting(shown, room)
        rows = [""]
    if rows and not content.arrays and (shown or advice.caution or advice.set_lines):
        console.print()
    print_lines(
        [plain_settings(text) for text in (shown if everything else shown[:REASONS_MOST])],
        console,
        indent="  ",
    )
    print_lines(advice.caution, console, style="dim", indent="  ")
    for title, lines in (("set: ", advice.set_lines), ("undo:", advice.undo_lines)):
        for line in lines:
            console.print(f"{title} {line}", soft_wrap=True, highlight=False, markup=False)


def _fitting(texts: Sequence[str], room: int) -> Sequence[str]:
    """Those at the beginning that so many lines hold."""
    heights = accumulate(len(wrapped(text, WIDTH, "  ")) for text in texts)
    return texts[: sum(total <= room for total in heights)]


def _print_question_table(content: ReportContent, console: Console, *, everything: bool) -> int:
    """All rows, or the brief ones on a screen without room for them: the answer above has to stay visible. How many
    lines are left for reasons."""
    table, advice = content.table, content.advice
    assert table is not None
    texts = [*wrapped(advice.headline, WIDTH), *advice.set_lines, *advice.undo_lines]
    texts += [line for text in (*advice.caution, table.caption) for line in wrapped(text, WIDTH, "  ")]
    room = SCREEN_LINES - QUESTION_FRAME_LINES + (0 if table.has_storage_above else STORAGE_LINES) - len(texts)

    def left_with(places: Sequence[int]) -> int:
        return room - sum(map(len, columns(table.heads, [table.rows[place] for place in places], WIDTH, 1)))

    places: Sequence[int] = range(len(table.rows))
    while not everything and table.brief and len(places) > 1 and left_with(places) < 0:
        places = places[:-1] if len(places) <= len(table.brief) else table.brief
    rows, last = [], ""
    for row in (table.rows[place] for place in places):
        cells = ("" if row[0] == last else row[0], *row[1:])
        rows.append([joined(cell) if cell[:1].isdigit() else cell for cell in cells])
        last = row[0]
    console.print()
    print_columns(table.heads, rows, console, numbers_from=1)
    print_lines([table.caption] if table.caption else [], console, style="dim")
    left = left_with(places)
    if left > 0 and len(places) < len(table.rows):
        print_lines(["More rows with `--all`."], console, style="dim")
        left -= 1
    return left


SCREEN_LINES = 24
FRAME_LINES = 5
"""What commands print around an answer: which run it is, the next command, and the shell's prompt."""
QUESTION_FRAME_LINES = 8
"""Around the table of a question: the storage in two lines and a blank line, blank lines above and below the table, a
blank line and the next command, the shell's prompt."""
STORAGE_LINES = 1
"""What the storage takes more than the line that `results` prints of a run."""
TABLE_FRAME_LINES = 5
"""Around a table of figures: its head in up to three lines, what is left out, a blank line."""
ROWS_LEAST = 3


def print_run(
    content: ReportContent,
    console: Console,
    *,
    shows_all: str,
    everything: bool = False,
    told: Sequence[str] | None = None,
) -> None:
    """The answer first, and as many notes as a screen holds; `everything`: also every value, insight, outlier and the
    self-check.

    `told`: what the command has said before, which goes on with the command that shows the notes left out; None:
    `shows_all` is named.
    """
    if content.live is not None:
        for line in tune_answer.lines(content, width=console.width, everything=everything):
            say(line, console)
        return
    with console.capture() as answer:
        print_answer(content, console, everything=everything)
    room = SCREEN_LINES - FRAME_LINES - TABLE_FRAME_LINES - answer.get().count("\n")
    with console.capture() as table:
        _print_table(content, console, everything=everything, rows_most=min(ROWS_MOST, max(room, ROWS_LEAST)))
    said = answer.get() + table.get()
    console.file.write(said)
    if everything:
        print_findings(content, console)
    known = (*(told or ()), *content.advice.reasons)
    notes = [note for note in content.notes if note not in known and (everything or note not in content.remarks)]
    lines = [wrapped(f"note: {note}", WIDTH) for note in notes]
    # A line each for the one above the notes and the one that says how many are left out.
    room = SCREEN_LINES - FRAME_LINES - said.count("\n") - 2
    shown = len(notes) if everything else sum(total <= room for total in accumulate(map(len, lines)))
    says_more = shown < len(notes) and told is None
    if shown or (says_more and room >= 0):
        console.print()
    print_lines([f"note: {note}" for note in notes[:shown]], console)
    if says_more:
        more = f"{len(notes) - shown} {'more ' if shown else ''}note{'s' if len(notes) - shown > 1 else ''}"
        print_lines([f"{more}: `{shows_all}`"], console, style="dim")


def _print_table(content: ReportContent, console: Console, *, everything: bool, rows_most: int) -> None:
    if everything and content.is_compared:
        console.print()
        print_lines([text for text in (content.rule, content.control) if text], console, style="dim")
    elif not content.is_compared and not content.table:
        console.print()
        print_figures(content, console, everything=everything, rows_most=rows_most)


@dataclass(frozen=True)
class Column:
    """One column of the figures: its title and what it makes of a row of `rows.summary_rows`."""

    title: str
    text: Callable[[dict[str, Any]], str]
    is_number: bool = True
    is_brief: bool = True
    """Shown without `--figures` as well."""
    needs: str | None = None
    """Left out where no row has a value of this name."""


FIGURES = (
    Column("Operation", lambda row: operations.name(row["operation"]), is_number=False),
    Column("Threads", lambda row: str(row["threads"])),
    Column("Setting", lambda row: str(row["setting"]), is_number=False),
    Column("MB/s", lambda row: three(row["rate_mb_s"])),
    Column("Mean latency", lambda row: "–" if row["access_ms"] is None else f"{three(row['access_ms'])} ms"),
    Column("95 % interval", lambda row: _throughput_interval(row), is_number=False, is_brief=False),
    Column("MB per CPU second", lambda row: three(row["cpu_efficiency"]), is_brief=False),
    Column("SYS-CPU", lambda row: _per_cent(row["sys_cpu_percent"]), is_brief=False),
    Column("CPU-WAIT", lambda row: _per_cent(row["cpu_wait_percent"]), is_brief=False, needs="cpu_wait_percent"),
    Column("Trials", lambda row: str(row["n"])),
)
DIMENSION_TITLES = {
    "system": "System",
    "load": "Load",
    "block_bytes": "Request size",
    "iodepth": "Depth",
    "memory_bytes": "Memory",
}


ROWS_MOST = 14
"""Rows of figures on the first screen. Where there are more, operations stand side by side and show their rates."""


def print_figures(
    content: ReportContent, console: Console, *, everything: bool = False, rows_most: int = ROWS_MOST
) -> None:
    """What was measured, a line per operation, threads and setting, means over repetitions. `everything`: intervals and
    CPU time, too."""
    dimensions = varied_dimensions(content.records)
    records = [record for record in content.records if everything or record.setting not in _controls(content)]
    rows = summary_rows(trial_rows(records), by=(*dimensions, "operation", "setting", "threads"))
    systems = [system.name for system in content.systems]
    rows.sort(key=lambda row: [_ordered(row[name], systems) for name in (*dimensions, "threads")])
    table = plain_table()
    for name in dimensions:
        table.add_column(DIMENSION_TITLES.get(name, name), overflow="fold")
    done = sorted({str(row["operation"]) for row in rows}, key=operations.place)
    if everything or len(rows) <= rows_most or len(done) < 2:
        left = _figure_rows(table, rows, dimensions, everything=everything, rows_most=rows_most)
    else:
        left = _throughput_rows(table, rows, dimensions, done, rows_most)
    console.print(table, width=None if everything else min(console.width, WIDTH))
    if left:
        console.print(f"… and {left} more rows with `--all`", highlight=False)


def _figure_rows(
    table: Table, rows: Sequence[dict[str, Any]], dimensions: Sequence[str], *, everything: bool, rows_most: int
) -> int:
    """A line per operation; how many rows are left out."""
    columns = [
        figure
        for figure in FIGURES
        if (everything or figure.is_brief and (figure.title != "Setting" or len({row["setting"] for row in rows}) > 1))
        and (figure.needs is None or any(row[figure.needs] is not None for row in rows))
    ]
    for column in columns:
        table.add_column(column.title, justify="right" if column.is_number else "left", overflow="fold")
    shown = rows if everything else rows[:rows_most]
    for row in shown:
        table.add_row(*_apart_by(row, dimensions), *(column.text(row) for column in columns))
    return len(rows) - len(shown)


def _throughput_rows(
    table: Table, rows: Sequence[dict[str, Any]], dimensions: Sequence[str], done: Sequence[str], rows_most: int
) -> int:
    """A line per condition and setting with the rate of each operation; how many are left out."""
    names = [name for name in ("threads", "setting") if len({row[name] for row in rows}) > 1]
    for name in names:
        table.add_column(name.capitalize(), overflow="fold")
    for operation in done:
        # "Sequential" would be parted within the word where a study varies much.
        title = f"{operations.name(operation)} MB/s".replace("Sequential", "Seq.")
        table.add_column(title, justify="right", overflow="fold")
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for row in rows:
        key = (*_apart_by(row, dimensions), *(str(row[name]) for name in names))
        lines.setdefault(key, {})[str(row["operation"])] = three(row["rate_mb_s"])
    for key in list(lines)[:rows_most]:
        table.add_row(*key, *(lines[key].get(operation, "–") for operation in done))
    return max(0, len(lines) - rows_most)


def _apart_by(row: dict[str, Any], dimensions: Sequence[str]) -> list[str]:
    return [
        "–" if row[name] is None else size_word(int(row[name])) if name.endswith("bytes") else str(row[name])
        for name in dimensions
    ]


def _controls(content: ReportContent) -> set[str]:
    """Second labels of an A/A check: they show nothing that the setting itself does not."""
    return {setting.label for setting in content.plan.settings if setting.control} if content.plan else set()


def _ordered(value: object, systems: Sequence[str]) -> tuple[bool, float, str]:
    """Numbers as numbers, before names; systems in the order of their study, other names in that of the alphabet."""
    if isinstance(value, int | float):
        return False, float(value), ""
    return True, float(systems.index(str(value))) if value in systems else float(len(systems)), str(value)


def _throughput_interval(row: dict[str, Any]) -> str:
    low, high = row["rate_mb_s_low"], row["rate_mb_s_high"]
    return f"{three(low)} to {three(high)} MB/s" if low is not None else ""


def _per_cent(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g} %"
