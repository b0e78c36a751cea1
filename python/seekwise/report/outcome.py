"""The outcome of a study in words and rows: the winner table, the advice, the notes; filled into the shape that reports draw."""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from seekwise.judge import arrays, believable, tables
from seekwise.judge.bitmap import rows as bitmap_rows
from seekwise.judge.control import judge_control
from seekwise.judge.observation import Verdict
from seekwise.judge.observe import observations
from seekwise.judge.rebuild import rows as rebuild_rows
from seekwise.judge.records import exact_note, invalid_note, remarks
from seekwise.judge.rule import ROUNDS_MIN, RULE_VERSION, THRESHOLD_SHARE, more_is_better
from seekwise.judge.study_outcome import StudyOutcome, condition_text, lines, otherwise, pooled_threads, reference
from seekwise.number_text import TIMES_FROM, change, listed, three
from seekwise.report import (
    answered,
    array_advice,
    array_answer,
    bitmap,
    insights,
    rebuild,
    systems_answer,
    whatif_answer,
)
from seekwise.report.answered import Question
from seekwise.report.content import Advice, QuestionTable, ReportContent, WinnerCell, WinnerRow
from seekwise.report.rows import varied_dimensions
from seekwise.store import operations
from seekwise.store.database import IMPORTED, Run
from seekwise.store.record import Phase, Record
from seekwise.workload.study import combination_key
from seekwise.workload.study.plan import Plan, SystemFacts
from seekwise.workload.study.quantity import size_word


def rule_text() -> str:
    """The rule that made the verdicts, with the differences that are no win by it."""
    named: dict[float, list[str]] = {}
    for metric, name in METRIC_WORDS.items():
        named.setdefault(THRESHOLD_SHARE[metric], []).append(name)
    parts = [f"{100 * share:g} % in {listed(names)}" for share, names in named.items()]
    return (
        "All comparisons of a table are estimated together; a win has at least 95 % probability, intervals hold with 90 %; "
        f"differences below {listed(parts)} are no win (rule {RULE_VERSION})."
    )


def content_of(study_outcome: StudyOutcome) -> ReportContent:
    """The outcome of a study in the shape that reports draw."""
    run, plan, records, study, compared = (
        study_outcome.run,
        study_outcome.plan,
        study_outcome.records,
        study_outcome.study,
        study_outcome.compared,
    )
    facts = plan.systems[0]
    environment = dict(records[0].environment) if records else {}
    environment.pop("stack", None)
    many = len(plan.systems) > 1
    labels = [setting.label for setting in plan.settings]
    designed = array_answer.of_records(records)
    of_its_kind = (
        (array_answer.advice(designed, cautions(plan)) if designed else None)
        or whatif_answer.advice(compared, labels, cautions(plan))
        or rebuild.advice(compared, cautions(plan))
        or bitmap.advice(compared, cautions(plan))
        or array_advice.advice(compared, cautions(plan))
        or _conditions(compared, plan)
        or systems_answer.advice(study, compared, cautions(plan))
    )
    candidates = [setting for setting in plan.settings if not setting.control]
    said = remarks(records)
    return ReportContent(
        run_id=run.run_id,
        title=plan.study,
        subject=", ".join(facts.name for facts in plan.systems) if many else _subject(facts),
        provenance=study_outcome.provenance,
        advice=of_its_kind or advice(study_outcome),
        question=question(study_outcome) if of_its_kind is None and len(candidates) > 1 else None,
        remarks=frozenset(said),
        winners=winner_rows(study_outcome.verdicts, plan),
        records=compared,
        rule=rule_text(),
        control=control_text(compared, plan),
        stack_lines=[line for system in plan.systems for line in system.stack],
        environment=environment,
        repeat_lines=repeat_lines(run),
        table=(own := array_answer.table(designed) if designed else _own_table(compared)),
        arrays=() if own else arrays.with_states(compared),
        systems=tuple(study.system) if study else (),
        findings=insights.find(compared, study.system if study else ()),
        plan=plan,
        run=run,
        study=study,
        discarded=tuple(record for record in records if not record.valid),
        notes=_notes(plan, records, [*exact_note(study_outcome.judged), *said]),
    )


def _notes(plan: Plan, records: list[Record], said: Sequence[str]) -> list[str]:
    """What a reader must know beside the answer, in sentences."""
    notes = (
        *plan.notes,
        invalid_note(records),
        *believable.implausible(records),
        *condition_notes(records),
        *said,
    )
    return [note for note in notes if note]


def _subject(facts: SystemFacts) -> str:
    return f"{facts.target} on {', '.join(facts.leaves)}" if facts.leaves else facts.target


def _own_table(records: Sequence[Record]) -> QuestionTable | None:
    if rebuilds := rebuild_rows(records):
        return rebuild.table(rebuilds)
    if bitmaps := bitmap_rows(records):
        return bitmap.table(bitmaps)
    return whatif_answer.table_of(records)


CONDITIONS = {"missing", "resync_kib_s", "sync_action", "sync_speed_max"}
"""What happens to an array and is no setting to advise."""


def _conditions(records: Sequence[Record], plan: Plan) -> Advice | None:
    """What a condition costs, where nothing else was varied."""
    candidates = [setting for setting in plan.settings if not setting.control]
    varied = {n for s in candidates for n in s.values if len({str(o.values.get(n)) for o in candidates}) > 1}
    if not varied or not varied <= CONDITIONS:
        return None
    throughputs: dict[tuple[str, str], list[tuple[str, float]]] = {}
    for record in records:
        for phase in record.phases:
            each = phase.bytes / phase.elapsed_s if phase.elapsed_s else 0.0
            throughputs.setdefault((record.setting, phase.operation), []).append((record.combination, each))
    said = []
    for setting in candidates:
        if setting.label == plan.reference:
            continue
        changes = []
        for (label, operation), mine in throughputs.items():
            base = dict(throughputs.get((plan.reference, operation), ()))
            logs = [math.log(rate / base[key]) for key, rate in mine if rate > 0 and base.get(key, 0) > 0]
            if label == setting.label and logs:
                ratio = math.exp(sum(logs) / len(logs))
                changes.append(f"{operations.name(operation).lower()} {_slower(ratio)}")
        said.append(f"With {setting.label}: {', '.join(changes)}.")
    return Advice(" ".join(said), (f"compared with {plan.reference}, means over the loads",), caution=cautions(plan))


def _slower(ratio: float) -> str:
    if abs(ratio - 1) < THRESHOLD_SHARE["rate"]:
        return "as fast"
    if ratio > 1:
        return f"{100 * (ratio - 1):.0f} % faster"
    return f"{1 / ratio:.2g} times slower" if ratio < 0.5 else f"{100 * (1 - ratio):.0f} % slower"


def winner_rows(verdicts: Sequence[Verdict], plan: Plan) -> list[WinnerRow]:
    """The table of `verdict.tables` in the report's shape: rows over all threads, then those of single thread counts."""
    rows: list[WinnerRow] = []
    for table in tables.winner_tables(verdicts):
        for row in sorted(table, key=lambda row: _row_order(row, plan)):
            cells = {metric: _cell(entry) for metric, entry in row.cells.items()}
            rows.append(WinnerRow(row.operation, condition_text(row.conditions, plan), cells))
    return rows


def _row_order(row: tables.CombinationWinners, plan: Plan) -> tuple[object, ...]:
    names = [facts.name for facts in plan.systems]
    system = row.conditions.get("system")
    # Numbers as numbers: 8 threads before 16; a row over all threads has fewer conditions and comes first.
    others = [value for name, value in row.conditions.items() if name != "system"]
    words = [(int(word) if word.isdigit() else 0, word) for other in others for word in re.findall(r"\d+|\D+", other)]
    return operations.place(row.operation), names.index(system) if system in names else -1, len(others), words


def _cell(entry: tables.Winner) -> WinnerCell:
    kinds = {verdict.word for verdict in entry.verdicts}
    word = kinds.pop() if len(kinds) == 1 else ("clear" if entry.candidates.decided else "mixed")
    detail = ""
    if entry.margin is not None:
        _, low, high = entry.margin
        words = times(low, high, more_is_better=more_is_better(entry.verdicts[0].metric))
        detail = f"{entry.candidates.order[0]}: {words}"
    if len(entry.candidates.order) > 2 and entry.candidates.groups_text:
        detail += f"{', ' if detail else ''}{entry.candidates.groups_text}"
    repetitions = max((verdict.repetitions for verdict in entry.verdicts), default=0)
    detail += f"{', ' if detail else ''}{repetitions} repetitions"
    return WinnerCell(entry.candidates.text, word, detail)


def control_text(records: Sequence[Record], plan: Plan) -> str:
    """How often two labels of the same setting looked different: what the verdicts are worth here."""
    control = next((setting for setting in plan.settings if setting.control), None)
    if control is None:
        return ""
    pair = (plan.reference, control.label)
    report = judge_control(observations(records), control=pair)
    return f"{report.text}." if report.comparisons else ""


VARIED = {
    "system": "systems", "load": "loads", "block_bytes": "request sizes", "iodepth": "depths of the load", "memory_bytes": "sizes of memory",
}  # fmt: skip
"""What a study of one setting compares instead, by the name of the dimension."""


def advice(study_outcome: StudyOutcome) -> Advice:
    """What to set, in words and lines."""
    verdicts, plan, records, asked = (
        study_outcome.verdicts,
        study_outcome.plan,
        study_outcome.records,
        question(study_outcome),
    )
    candidates = [setting for setting in plan.settings if not setting.control]
    if not any(record.valid for record in records):
        return Advice("No valid trial, so nothing can be recommended.", reasons=(invalid_note(list(records)) or "",))
    if len(candidates) < 2:
        if plan.backend == IMPORTED:
            return _one_set_up(records, plan)
        varied = varied_dimensions(records)
        below = f"; the figures compare {listed([VARIED.get(name, name) for name in varied])}" if varied else ""
        return Advice(
            f"Only {plan.reference} was tested, so there is nothing to choose from{below}.", reasons=plan.notes[:1]
        )
    if plan.backend == IMPORTED and (depths := _by_depth(records)):
        return Advice(
            f"No two files share a load; their queue depths are compared: {depths}.{_too_few(records)}",
            reasons=plan.notes[:1],
        )
    if not verdicts and plan.backend == IMPORTED and not _shares_a_load(records):
        return Advice("Nothing is compared: no two of these set-ups measured the same load.", reasons=plan.notes[:1])
    spoiled = [record for record in records if not record.valid]
    if 2 * len(spoiled) > len(records):
        why = f"{len(spoiled)} of {len(records)} trials were disturbed; run it again when it is quiet"
        return Advice(f"Too disturbed to tell: {why}.", _open_question(verdicts))
    said = (*_means(study_outcome), *cautions(plan))
    if asked.choice is None or not asked.choice.changes:
        return _kept(asked, verdicts, plan, records, said)
    setting = next(candidate for candidate in candidates if candidate.label == asked.choice.setting)
    shown = lines(setting, plan)
    reasons = tuple(_win_text(v, setting.label, plan) for v in _strongest(wins(verdicts, setting.label, plan))[:3])
    alone = one_at_a_time(asked, plan)
    said = (*((alone,) if alone else ()), *said)
    return Advice(answered.headline(asked), reasons, shown.set, shown.undo, said, recommended=(setting.label,))


def one_at_a_time(asked: Question, plan: Plan) -> str:
    """What each factor brings alone, and what all of them bring together, in the figure that gains most; empty where one factor varied."""
    values = {setting.label: setting.values for setting in plan.settings if not setting.control}
    base = values.get(asked.in_force, {})
    names = [name for name in base if len({value.get(name) for value in values.values()}) > 1]
    if len(names) < 2 or asked.choice is None or not asked.choice.gains:
        return ""
    most = asked.choice.gains[0]
    figure = next(entry for entry in asked.judged if (entry.use, entry.metric) == (most.use, most.metric))
    told = []
    for changed in [*([name] for name in names), names]:
        able = [
            standing
            for label, own in values.items()
            if (standing := figure.standing(label)) is not None
            and standing.ratio is not None
            and label != asked.in_force
            and {name for name in names if own.get(name) != base.get(name)} == set(changed)
        ]
        if able:
            best = max(able, key=lambda each: figure.sign * math.log(each.ratio or 1.0))
            which = " ".join(f"{name}={values[best.setting][name]}" for name in changed)
            told.append(f"{which}{' alone' if len(changed) == 1 else ''} {change(best.ratio or 1.0)}")
    return f"One thing at a time, {figure.use}: {', '.join(told)}" if len(told) > 1 else ""


SYNCS = "durable writes of "
"""How the note begins that says how long syncs took (`importing/fio_json.py`): the figure that counts for programs that wait for them."""


def _one_set_up(records: Sequence[Record], plan: Plan) -> Advice:
    """What an import of one set-up says: its figures. There is nothing to choose from."""
    note = next((text for text in plan.notes if SYNCS in text), None)
    alone = (
        f"One set-up, {plan.reference}: there is nothing to choose from. Import another one's files with it to compare."
    )
    if note is not None:
        text = note[note.index(SYNCS) :]
        return Advice(f"{text[0].upper()}{text[1:].rstrip('.')}.", reasons=(alone,))
    said = []
    apart = [
        name for name in DIMENSIONS if len({other.factors[name] for other in records if name in other.factors}) > 1
    ]
    repeats: dict[tuple[str, str], list[tuple[Record, Phase]]] = {}
    for record, phase in [(other, phase) for other in records if other.valid for phase in other.phases]:
        repeats.setdefault((record.combination, phase.operation), []).append((record, phase))
    for (record, phase), *others in list(repeats.values())[:LOADS_MOST]:
        if others:
            rates = [measured.rate_bytes_per_s / 1e6 for _, measured in [(record, phase), *others]]
            mean = statistics.geometric_mean(rates)
            span = f"mean of {len(rates)} runs, {three(min(rates))} to {three(max(rates))}"
            said.append(f"{_load_words(record, phase, apart)} {three(mean)} MB/s ({span})")
            continue
        # As the tool printed it, however few requests lie beyond: nothing is compared here.
        tail = phase.percentiles_ns.get("99")
        latency = (
            f", p99 {tail / 1e6:.3g} ms"
            if tail
            else f", mean {phase.latency_mean_ns / 1e6:.3g} ms"
            if phase.latency_mean_ns
            else ""
        )
        said.append(
            f"{_load_words(record, phase, apart)} {three(phase.rate_bytes_per_s / 1e6)} MB/s{f', {phase.iops:,.0f} IOPS' if phase.ios else ''}{latency}"
        )
    return Advice(f"{plan.reference}: {'; '.join(said)}.", reasons=(alone,))


def _load_words(record: Record, phase: Phase, apart: Sequence[str]) -> str:
    """`random read (4k, depth 8)`: the operation, and what tells it from the other loads."""
    which = ", ".join(DIMENSIONS[name](record.factors[name]) for name in apart if name in record.factors)
    return f"{operations.name(phase.operation).lower()}{which and f' ({which})'}"


DEPTH = re.compile(r"depth (\d+)")
LOADS_MOST = 2
SO_FAR_MOST = 4
DIMENSIONS: dict[str, Callable[[Any], str]] = {
    "block_bytes": lambda value: size_word(int(value)),
    "iodepth": lambda value: f"depth {value}",
    "threads": lambda value: f"{value} thread{'s' if value != 1 else ''}",
}
"""What tells the loads of an import apart, in words."""


def _by_depth(records: Sequence[Record]) -> str:
    """`random read 100 IOPS at depth 1, 200 at 8`; empty where it is not depths that an import compares (`importing/setups.py`)."""
    rates: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    many = len({record.factors.get("threads") for record in records}) > 1
    for record in records:
        depth = DEPTH.fullmatch(record.setting)
        if depth is None:
            return ""
        for phase in record.phases:
            words = _load_words(record, phase, ["threads"] if many else [])
            rates.setdefault((phase.operation, record.combination, words), {}).setdefault(int(depth[1]), []).append(
                phase.iops
            )
    said = []
    several: dict[str, list[tuple[str, dict[int, list[float]]]]] = {}
    for (operation, _, load), by_depth in rates.items():
        if len(by_depth) > 1:
            several.setdefault(operation, []).append((load, by_depth))
    # The first load of each operation before any second one.
    in_turn = [load for turn in itertools.zip_longest(*several.values()) for load in turn if load is not None]
    for load, by_depth in in_turn[:LOADS_MOST]:
        (first, value), *more = [(depth, sum(values) / len(values)) for depth, values in sorted(by_depth.items())]
        rest = "".join(f", {iops:,.0f} at {depth}" for depth, iops in more)
        said.append(f"{load} {value:,.0f} IOPS at depth {first}{rest}")
    return "; ".join(said)


def _too_few(records: Sequence[Record]) -> str:
    """` One repeat of each gives no answer: 3 of each are needed.`; empty where there are enough of one load."""
    repeats = Counter(
        (record.combination, record.setting, *(phase.operation for phase in record.phases))
        for record in records
        if record.valid
    )
    most = max(repeats.values(), default=0)
    if most >= ROUNDS_MIN:
        return ""
    few = "One repeat of each gives" if most == 1 else f"{most} repeats of each give"
    return f" {few} no answer: {ROUNDS_MIN} of each are needed."


def _so_far(records: Sequence[Record]) -> str:
    """`So far random read: a 0.504 MB/s, b 0.27 MB/s.`; of several loads, who is ahead in how many. Empty where no load
    is shared."""
    rates: dict[tuple[str, str], dict[str, list[float]]] = {}
    for record, phase in [(each, phase) for each in records if each.valid for phase in each.phases]:
        if not phase.details.get("syncs") and phase.rate_bytes_per_s > 0:
            of_load = rates.setdefault((record.combination, phase.operation), {})
            of_load.setdefault(record.setting, []).append(phase.rate_bytes_per_s / 1e6)
    shared = [
        (operation, {setting: statistics.geometric_mean(values) for setting, values in of_load.items()})
        for (_, operation), of_load in rates.items()
        if len(of_load) > 1
    ]
    if not shared:
        return ""
    if len(shared) == 1:
        ((operation, means),) = shared
        ranked = sorted(means.items(), key=lambda entry: -entry[1])
        values = ", ".join(f"{setting} {three(mean)} MB/s" for setting, mean in ranked[:SO_FAR_MOST])
        more = f" and {len(ranked) - SO_FAR_MOST} more" if len(ranked) > SO_FAR_MOST else ""
        return f"So far {operations.name(operation).lower()}: {values}{more}."
    (best, ahead), *others = Counter(max(means, key=lambda name: means[name]) for _, means in shared).most_common()
    if others and others[0][1] == ahead:
        return ""
    settings = {setting for _, means in shared for setting in means}
    ratios = [
        means[best] / value for _, means in shared for name, value in means.items() if best in means and name != best
    ]
    by = f", {change(statistics.geometric_mean(ratios))} on average" if len(settings) == 2 else ""
    word = "higher" if len(settings) == 2 else "highest"
    return f"So far {best} has the {word} throughput in {ahead} of {len(shared)} loads{by}."


def _shares_a_load(records: Sequence[Record]) -> bool:
    seen: dict[tuple[str, str], str] = {}
    return any(
        seen.setdefault((phase.operation, record.combination), record.setting) != record.setting
        for record in records
        if record.valid
        for phase in record.phases
    )


def question(study_outcome: StudyOutcome) -> Question:
    """What the answer of a study with one system is made from."""
    plan, decided = study_outcome.plan, study_outcome.decided
    varied = {name for setting in plan.settings for name in setting.values}
    what = "scheduler" if varied <= {"scheduler"} else "setting"
    is_set = plan.backend == "kernel" and not otherwise(reference(plan), plan)
    return Question(decided.judged, decided.choice, plan.reference, decided.by_purpose, (), what, is_set)


def cautions(plan: Plan) -> tuple[str, ...]:
    """What to think of before following any advice of this run."""
    simulated = ("simulated: measure before you change a machine",) if plan.backend == "simulated" else ()
    return (*simulated, *(warning for facts in plan.systems for warning in facts.warnings))


def _means(study_outcome: StudyOutcome) -> tuple[str, ...]:
    """Over what the values of the answer are means: no trial had them."""
    counts = pooled_threads(study_outcome.judged)
    return (
        (f"values: geometric means over {listed([str(n) for n in counts])} threads; `--figures` shows each",)
        if counts
        else ()
    )


def _kept(
    asked: Question, verdicts: Sequence[Verdict], plan: Plan, records: Sequence[Record], said: tuple[str, ...]
) -> Advice:
    """No setting beats the reference. Where something else is in force, nothing was learnt about that: nothing to set either way."""
    name = plan.reference
    others = otherwise(reference(plan), plan)
    reasons = _open_question(verdicts)
    if asked.choice is None:
        few = _too_few(records) or f" {ROUNDS_MIN} repeats of each are needed."
        so_far = _so_far(records) if plan.backend == IMPORTED else ""
        return Advice(f"{so_far or 'Not measured long enough to compare anything.'}{few}", reasons, caution=said)
    if others:
        reasons = (*reasons, f"in force is {', '.join(others)}, which was not compared; nothing needs to be set")
    # What was in force where other tools measured is not known.
    if others or plan.backend == IMPORTED:
        bound = answered.at_most(asked)
        return Advice(
            f"Nothing that was tested is better than {name} on the whole{f'; {bound}' if bound else ''}.",
            reasons,
            caution=said,
        )
    return Advice(answered.headline(asked), reasons, caution=said, recommended=(name,))


def wins(verdicts: Sequence[Verdict], label: str, plan: Plan) -> list[Verdict]:
    """Where a setting is shown to be better than the reference."""
    return [
        v for v in verdicts
        if {v.setting_a, v.setting_b} == {label, plan.reference} and v.winner == label and v.metric in ("rate", "access_time", "p99")
    ]  # fmt: skip


def _strongest(wins: Sequence[Verdict]) -> list[Verdict]:
    # Rows over all thread counts first, then the greatest effect.
    return sorted(wins, key=lambda v: ("threads=" in v.combination, -abs(math.log(v.ratio)) if v.ratio > 0 else 0.0))


METRIC_WORDS = {
    "rate": "rate",
    "access_time": "access time",
    "cpu_efficiency": "CPU efficiency",
    "p99": "99th percentile of access time",
}


def _win_text(verdict: Verdict, label: str, plan: Plan) -> str:
    operation, conditions = combination_key.parse(verdict.combination)
    _, low, high = (verdict if verdict.setting_a == label else verdict.turned()).interval
    where = ", ".join(part for part in (operations.name(operation).lower(), condition_text(conditions, plan)) if part)
    return f"{where}: {METRIC_WORDS[verdict.metric]} {times(low, high, more_is_better=more_is_better(verdict.metric))}"


def times(low: float, high: float, *, more_is_better: bool) -> str:
    """An interval of ratios in words: `7 to 8 % higher`, `20 to 25 times as high`, `145 to 177 times shorter`."""
    up = "higher" if more_is_better else "longer"
    down = "lower" if more_is_better else "shorter"
    if not (math.isfinite(low) and math.isfinite(high) and low > 0):
        return f"{low:.3g} to {high:.3g} times"
    if low >= TIMES_FROM:
        return f"{_span(low, high)} times as {'high' if more_is_better else 'long'}"
    if high <= 1 / TIMES_FROM:
        return f"{_span(1 / high, 1 / low)} times {down}"
    if low >= 1:
        return f"{_span(100 * (low - 1), 100 * (high - 1))} % {up}"
    if high <= 1:
        return f"{_span(100 * (1 - high), 100 * (1 - low))} % {down}"
    return f"{100 * (1 - low):.3g} % {down} to {100 * (high - 1):.3g} % {up}"


def _span(low: float, high: float) -> str:
    first, last = f"{low:.3g}", f"{high:.3g}"
    return first if first == last else f"{first} to {last}"


def _open_question(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    undecided = [v for v in verdicts if v.word == "undecided"]
    if not undecided:
        return ()
    return (f"{len(undecided)} of {len(verdicts)} comparisons were not measured long enough",)


def repeat_lines(run: Run) -> list[str]:
    """Commands that repeat the run: same plan, same order, same seeds."""
    target = f" --target {run.target}" if run.target else ""
    return [
        f"seekwise export {run.run_id} --format study > study.toml",
        f"seekwise run study.toml --backend {run.backend}{target} --seed {run.seed}",
    ]


NOT_MODELLED_SHOWN = 4


def not_modelled_notes(records: Sequence[Record]) -> list[str]:
    """What a simulated run could not answer, by reason; an unanswered operation has no number anywhere."""
    reasons: dict[str, list[str]] = {}
    for record in records:
        for operation, reason in (record.conditions.get("not_modelled") or {}).items():
            reasons.setdefault(str(reason), []).append(
                f"{operation} on {record.factors.get('system', record.combination)}"
            )
    asked = sum(len(record.phases) + len(record.conditions.get("not_modelled") or {}) for record in records)
    notes = []
    for reason, places in sorted(reasons.items(), key=lambda each: -len(each[1])):
        names = list(dict.fromkeys(places))
        more = f" and {len(names) - NOT_MODELLED_SHOWN} more" if len(names) > NOT_MODELLED_SHOWN else ""
        where = ", ".join(names[:NOT_MODELLED_SHOWN])
        notes.append(f"{len(places)} of {asked} operations have no answer: {reason} ({where}{more})")
    return notes


def condition_notes(records: Sequence[Record]) -> list[str]:
    """Conditions that a reader should know of, in sentences."""
    notes = not_modelled_notes(records)
    conditions = records[0].conditions if records else {}
    if conditions.get("os_shares_drives"):
        notes.append("The running system lives on the tested drives; its own I/O can disturb trials")
    if flash := conditions.get("flash_in_used_state"):
        notes.append(
            f"Used state: {', '.join(flash)} was neither purged nor preconditioned; a fresh drive can be faster"
        )
    others = conditions.get("others") or {}
    if isinstance(others, dict) and others.get("quiet") is False:
        by = f" by {', '.join(others['other_io_by'])}" if others.get("other_io_by") else ""
        notes.append(f"Other I/O was on the devices before the first trial{by}")
    return notes
