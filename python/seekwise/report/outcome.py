"""The outcome of a study in words and rows: the winner table, the advice, the notes; filled into the shape that reports draw."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from seekwise.grouping import grouped
from seekwise.judge import arrays, believable
from seekwise.judge.bitmap import rows as bitmap_rows
from seekwise.judge.control import judge_control
from seekwise.judge.decision.observed import METRICS, OTHERS
from seekwise.judge.decision.verdicts import CandidateVerdict, Judged
from seekwise.judge.observe import observations
from seekwise.judge.outcome import LiveOutcome, Outcome
from seekwise.judge.rebuild import rows as rebuild_rows
from seekwise.judge.records import exact_note, invalid_note, remarks
from seekwise.judge.rule import ROUNDS_MIN, RULE_VERSION, THRESHOLD_SHARE
from seekwise.judge.study_outcome import StudyOutcome, condition_text, lines, otherwise, pooled_threads, reference
from seekwise.number_text import TIMES_FROM, change, listed, some, three
from seekwise.report import (
    answered,
    array_advice,
    array_answer,
    bitmap,
    insights,
    rebuild,
    systems_answer,
    tune_answer,
    whatif_answer,
)
from seekwise.report.answered import Question
from seekwise.report.content import Advice, QuestionTable, ReportContent
from seekwise.report.metric_words import METRIC_NAMES, speed_text
from seekwise.report.rows import varied_dimensions
from seekwise.simulate.gain_error import gains_covered
from seekwise.store import operations
from seekwise.store.database import IMPORTED, Run
from seekwise.store.record import Phase, Record
from seekwise.workload.study import combination_key
from seekwise.workload.study.plan import Plan, SystemFacts
from seekwise.workload.study.quantity import size_word


def rule_text() -> str:
    """The rule that made the verdicts, with the differences that are no win by it."""
    named = grouped((THRESHOLD_SHARE[metric], METRIC_NAMES[metric]) for metric in (*METRICS, *OTHERS))
    parts = [f"{100 * share:g} % in {listed(names)}" for share, names in named.items()]
    return (
        "All comparisons of a table are estimated together; a win has at least 95 % probability, intervals hold with 90 %; "
        f"differences below {listed(parts)} are no win (rule {RULE_VERSION})."
    )


def content_of(judged: Outcome) -> ReportContent:
    """The outcome of a run in the shape that reports draw."""
    return tune_answer.content(judged) if isinstance(judged, LiveOutcome) else _of_study(judged)


def _of_study(study_outcome: StudyOutcome) -> ReportContent:
    run, plan, records = study_outcome.run, study_outcome.plan, study_outcome.records
    study, compared = study_outcome.study, study_outcome.compared
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
        is_compared=bool(study_outcome.judged),
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
    is_headline = plan.lead and sum(not setting.control for setting in plan.settings) < 2
    notes = (
        *(plan.notes[1:] if is_headline else plan.notes),
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
            ratios = [rate / base[key] for key, rate in mine if rate > 0 and base.get(key, 0) > 0]
            if label == setting.label and ratios:
                ratio = statistics.geometric_mean(ratios)
                is_alike = abs(ratio - 1) < THRESHOLD_SHARE["rate"]
                changes.append(f"{operations.name(operation).lower()} {'as fast' if is_alike else speed_text(ratio)}")
        said.append(f"With {setting.label}: {', '.join(changes)}.")
    return Advice(" ".join(said), (f"compared with {plan.reference}, means over the loads",), caution=cautions(plan))


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
    judged, plan, records = study_outcome.judged, study_outcome.plan, study_outcome.records
    asked = question(study_outcome)
    candidates = [setting for setting in plan.settings if not setting.control]
    if not any(record.valid for record in records):
        return Advice("No valid trial, so nothing can be recommended.", reasons=(invalid_note(list(records)) or "",))
    if len(candidates) < 2:
        if plan.backend == IMPORTED:
            return _one_set_up(records, plan)
        varied = varied_dimensions(records)
        below = f"; the figures compare {listed([VARIED.get(name, name) for name in varied])}" if varied else ""
        return Advice(
            f"Only one setting was tested ({plan.reference}), so there is nothing to choose from{below}.",
            reasons=plan.notes[:1],
        )
    if plan.backend == IMPORTED and (depths := _by_depth(records, plan)):
        return Advice(
            f"No two files share a load; their queue depths are compared: {depths}.{_too_few(records)}",
            reasons=plan.notes[:1],
        )
    if not judged and plan.backend == IMPORTED and all(len(each) < 2 for each in _by_load(records).values()):
        return Advice("Nothing is compared: no two of these set-ups measured the same load.", reasons=plan.notes[:1])
    spoiled = [record for record in records if not record.valid]
    if 2 * len(spoiled) > len(records):
        why = f"{len(spoiled)} of {len(records)} trials were disturbed; run it again when it is quiet"
        return Advice(f"Too disturbed to tell: {why}.", _open_question(judged))
    said = (*_means(study_outcome), *cautions(plan))
    if asked.choice is None or not asked.choice.changes:
        return _kept(asked, judged, plan, records, said)
    setting = next(candidate for candidate in candidates if candidate.label == asked.choice.setting)
    shown = lines(setting, plan)
    reasons = tuple(_win_text(*win, plan) for win in wins(judged, setting.label)[:3])
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


def _by_load(records: Sequence[Record]) -> dict[tuple[str, str], dict[str, list[Phase]]]:
    """{(combination, operation): {setting: repeats}} of the valid records."""
    found: dict[tuple[str, str], dict[str, list[Phase]]] = {}
    for record in records:
        for phase in record.phases if record.valid else ():
            of_load = found.setdefault((record.combination, phase.operation), {})
            of_load.setdefault(record.setting, []).append(phase)
    return found


def _one_set_up(records: Sequence[Record], plan: Plan) -> Advice:
    """What an import of one set-up says: its figures. There is nothing to choose from."""
    alone = (
        f"One set-up, {plan.reference}: there is nothing to choose from. Import another one's files with it to compare."
    )
    if plan.lead:
        return Advice(f"{plan.lead[0].upper()}{plan.lead[1:].rstrip('.')}.", reasons=(alone,))
    factors = {record.combination: record.factors for record in records}
    apart = [name for name in DIMENSIONS if len({each[name] for each in factors.values() if name in each}) > 1]
    said = []
    for (combination, _), settings in list(_by_load(records).items())[:LOADS_MOST]:
        phase, *others = [phase for repeats in settings.values() for phase in repeats]
        words, rates = _load_words(factors[combination], phase, apart), _rates_mb_s([phase, *others])
        if others:
            span = f"mean of {len(rates)} runs, {three(min(rates))} to {three(max(rates))}"
            said.append(f"{words} {three(statistics.geometric_mean(rates))} MB/s ({span})")
            continue
        # As the tool printed it, however few requests lie beyond: nothing is compared here.
        tail_ns = phase.percentiles_ns.get("99")
        latency_ns = tail_ns or phase.latency_mean_ns
        latency = f", {'p99' if tail_ns else 'mean'} {latency_ns / 1e6:.3g} ms" if latency_ns else ""
        said.append(f"{words} {three(rates[0])} MB/s{f', {phase.iops:,.0f} IOPS' if phase.ios else ''}{latency}")
    return Advice(f"{plan.reference}: {'; '.join(said)}.", reasons=(alone,))


def _rates_mb_s(phases: Sequence[Phase]) -> list[float]:
    return [phase.rate_bytes_per_s / 1e6 for phase in phases]


def _load_words(factors: Mapping[str, Any], phase: Phase, apart: Sequence[str]) -> str:
    """`random read (4k, depth 8)`: the operation, and what tells it from the other loads."""
    which = ", ".join(DIMENSIONS[name](factors[name]) for name in apart if name in factors)
    return f"{operations.name(phase.operation).lower()}{which and f' ({which})'}"


LOADS_MOST = 2
SO_FAR_MOST = 4
DIMENSIONS: dict[str, Callable[[Any], str]] = {
    "block_bytes": lambda value: size_word(int(value)),
    "iodepth": lambda value: f"depth {value}",
    "threads": lambda value: f"{value} thread{'s' if value != 1 else ''}",
}
"""What tells the loads of an import apart, in words."""


def _by_depth(records: Sequence[Record], plan: Plan) -> str:
    """`random read 100 IOPS at depth 1, 200 at 8`; empty where it is not depths that an import compares (`importing/setups.py`)."""
    rates: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    many = len({record.factors.get("threads") for record in records}) > 1
    depths = {setting.label: setting.values.get("iodepth") for setting in plan.settings}
    for record in records:
        depth = depths.get(record.setting)
        if depth is None:
            return ""
        for phase in record.phases:
            words = _load_words(record.factors, phase, ["threads"] if many else [])
            rates.setdefault((phase.operation, record.combination, words), {}).setdefault(int(depth), []).append(
                phase.iops
            )
    said = []
    several = grouped(
        (operation, (load, by_depth)) for (operation, _, load), by_depth in rates.items() if len(by_depth) > 1
    )
    # The first load of each operation before any second one.
    in_turn = [load for turn in itertools.zip_longest(*several.values()) for load in turn if load is not None]
    for load, by_depth in in_turn[:LOADS_MOST]:
        (first, value), *more = [(depth, sum(values) / len(values)) for depth, values in sorted(by_depth.items())]
        rest = "".join(f", {iops:,.0f} at {depth}" for depth, iops in more)
        said.append(f"{load} {value:,.0f} IOPS at depth {first}{rest}")
    return "; ".join(said)


def _too_few(records: Sequence[Record]) -> str:
    """` One repeat of each gives no answer: 3 of each are needed.`; empty where there are enough of one load."""
    most = max((len(repeats) for settings in _by_load(records).values() for repeats in settings.values()), default=0)
    if most >= ROUNDS_MIN:
        return ""
    few = "One repeat of each gives" if most == 1 else f"{most} repeats of each give"
    return f" {few} no answer: {ROUNDS_MIN} of each are needed."


def _so_far(records: Sequence[Record]) -> str:
    """`So far random read: a 0.504 MB/s, b 0.27 MB/s.`; of several loads, who is ahead in how many. Empty where no load
    is shared."""
    shared: list[tuple[str, dict[str, float]]] = []
    for (_, operation), of_load in _by_load(records).items():
        rates = {
            setting: _rates_mb_s([one for one in repeats if not one.details.get("syncs") and one.rate_bytes_per_s > 0])
            for setting, repeats in of_load.items()
        }
        means = {setting: statistics.geometric_mean(values) for setting, values in rates.items() if values}
        shared += [(operation, means)] if len(means) > 1 else []
    if not shared:
        return ""
    if len(shared) == 1:
        ((operation, means),) = shared
        ranked = sorted(means.items(), key=lambda entry: -entry[1])
        values = some((f"{setting} {three(mean)} MB/s" for setting, mean in ranked), SO_FAR_MOST)
        return f"So far {operations.name(operation).lower()}: {values}."
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


def question(study_outcome: StudyOutcome) -> Question:
    """What the answer of a study with one system is made from."""
    plan, decided = study_outcome.plan, study_outcome.decided
    varied = {name for setting in plan.settings for name in setting.values}
    what = "scheduler" if varied <= {"scheduler"} else "setting"
    is_set = plan.backend == "kernel" and not otherwise(reference(plan), plan)
    return Question(decided.judged, decided.choice, plan.reference, decided.by_purpose, (), what, is_set)


def model_notes(compared: Sequence[Mapping[str, object]]) -> Iterator[str]:
    """How far published gains are from the model's by what these settings differ in, and what the model leaves out."""
    covered = gains_covered(compared)
    if known := [f"{1 + found:.2g}× ({kind})" for kind, found in covered.items() if found is not None]:
        yield f"9 of 10 published gains are within {listed(known)} of simulated ones"
    if unheld := [kind for kind, found in covered.items() if found is None]:
        yield f"{listed(unheld)}: the model has not been held against measurements here"
    if any(values.get("scheduler") == "bfq" for values in compared):
        yield "bfq: without control groups unless `options = { cgroup = true }` is set"


def cautions(plan: Plan) -> tuple[str, ...]:
    """What to think of before following any advice of this run."""
    simulated = ["simulated: measure before you change a machine"] if plan.backend == "simulated" else []
    simulated += model_notes([setting.values for setting in plan.settings]) if simulated else []
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
    asked: Question, judged: Sequence[Judged], plan: Plan, records: Sequence[Record], said: tuple[str, ...]
) -> Advice:
    """No setting beats the reference. Where something else is in force, nothing was learnt about that: nothing to set either way."""
    name = plan.reference
    others = otherwise(reference(plan), plan)
    reasons = _open_question(judged)
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


def wins(judged: Sequence[Judged], label: str) -> list[tuple[Judged, CandidateVerdict]]:
    """Where a setting is shown to be better than the reference: rows over all thread counts first, then the greatest effect."""
    better = [
        (entry, standing)
        for entry in judged
        if entry.metric in METRICS and (standing := entry.standing(label)) is not None and standing.verdict == "better"
    ]
    return sorted(better, key=lambda win: ("threads=" in win[0].use, -abs(math.log(win[1].ratio or 1.0))))


def _win_text(entry: Judged, standing: CandidateVerdict, plan: Plan) -> str:
    operation, conditions = combination_key.parse(entry.use)
    where = ", ".join(part for part in (operations.name(operation).lower(), condition_text(conditions, plan)) if part)
    words = times(standing.low or 0.0, standing.high or math.inf, more_is_better=entry.more_is_better)
    return f"{where}: {METRIC_NAMES[entry.metric]} {words}"


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


def _open_question(judged: Sequence[Judged]) -> tuple[str, ...]:
    others = [standing for entry in judged for standing in entry.standings if standing.setting != entry.base]
    unknown = sum(standing.verdict == "unknown" for standing in others)
    return (f"{unknown} of {len(others)} comparisons were not measured long enough",) if unknown else ()


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
    reasons = grouped(
        (str(reason), f"{operation} on {record.factors.get('system', record.combination)}")
        for record in records
        for operation, reason in (record.conditions.get("not_modelled") or {}).items()
    )
    asked = sum(len(record.phases) + len(record.conditions.get("not_modelled") or {}) for record in records)
    notes = []
    for reason, places in sorted(reasons.items(), key=lambda each: -len(each[1])):
        where = some(dict.fromkeys(places), NOT_MODELLED_SHOWN)
        notes.append(f"{len(places)} of {asked} operations have no answer: {reason} ({where})")
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
