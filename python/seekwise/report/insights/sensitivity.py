"""Sensitivity: a study run at several values of one model parameter, and which of its conclusions change.

Every value runs with the same seeds, so that a change comes from the parameter; systems without the model keep their records. Besides,
the study runs as it is with other seeds: a conclusion that changes there hangs on chance, and its flips say nothing of a parameter. A
conclusion is a winner of the study's tables, else the best setting of each operation; how settings fall into groups; and where an array
begins to beat one drive.

A parameter without any effect is refused, or "none of the conclusions depends on it" would be said of something that was never applied:
before the first run if the simulator is asked the same with and without it, after its runs if they are the same to the bit.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from seekwise.errors import RefusedError, SeekwiseError, UsageError
from seekwise.judge.printed import MISSING, Style, printed
from seekwise.judge.published_rule import METRICS, decide
from seekwise.report import insights
from seekwise.report.insights import schedulers
from seekwise.report.insights.means import NAMES, UNITS, Means
from seekwise.report.number_text import three
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.store.record import Record
from seekwise.workload.study import parameters, plan
from seekwise.workload.study.parameters import Parameter
from seekwise.workload.study.quantity import size_word
from seekwise.workload.study.study import Study

POINTS = 3
POINTS_MAX = 25
REPETITIONS = 3
"""Repeats at each value: the seeds are the same everywhere, so few do."""
OTHER_SEEDS = 3
"""Runs of the unchanged study that show what hangs on chance."""
RANGE_FORM = "LOW..HIGH or LOW..HIGH/POINTS or VALUE,VALUE, such as 0.5..2, 1..9/5 or 1,4,10"

Tell = Callable[[int, int, float], None]
"""Told after each run: done, of, seconds left."""


@dataclass(frozen=True)
class Variation:
    """One parameter and the values that are tried; its own value is among them."""

    parameter: Parameter
    values: tuple[float, ...]
    is_given: bool = False
    """A person wrote the range: a value that cannot be is an error. The ends of a stated range are left out with their reason."""
    is_named: bool = True
    """A person named the parameter, so that it is refused if it has no effect; otherwise it is one of `all`."""

    def within_stated(self, value: float) -> bool:
        """False where the model states no range."""
        low, high = self.parameter.low, self.parameter.high
        return low is not None and high is not None and low <= value <= high


class ParameterEffect(StrEnum):
    """What a parameter does to a study."""

    SOME = "some"
    NOT_ASKED = "not asked"
    """The simulator is asked the same with and without it."""
    SAME_RESULTS = "same results"
    """Every result at every value tried is the same to the bit."""


WHY_NONE = {
    ParameterEffect.NOT_ASKED: "no trial of this study passes it to the simulator",
    ParameterEffect.SAME_RESULTS: "every result at every value tried is the same to the bit, so nothing in these loads depends on it",
}


@dataclass(frozen=True)
class Flip:
    """A conclusion that is another one at some value."""

    conclusion: str
    usual: str
    changed: dict[float, str]
    """{value: what comes out there}"""
    within_stated: bool
    """At a value inside the range that the model states: the conclusion is not certain."""
    by_chance: bool = False
    """Another seed changes it, too."""


@dataclass(frozen=True)
class Sensitivity:
    variation: Variation
    conclusions: dict[float, dict[str, str]]
    flips: list[Flip] = field(default_factory=list)
    figures: dict[float, dict[str, float]] = field(default_factory=dict)
    """{value: {operation on system: mean rate}}, for those that move most."""
    left_out: dict[float, str] = field(default_factory=dict)
    """{value: why it cannot be}"""
    effect: ParameterEffect = ParameterEffect.SOME


def parsed(study: Study, words: Sequence[str]) -> list[Variation]:
    """`NAME`, `NAME=LOW..HIGH`, `NAME=LOW..HIGH/POINTS`, `NAME=VALUE,VALUE`; `all` stands for every parameter with a stated range."""
    found: list[Variation] = []
    for word in words:
        if word.strip() == "all":
            found += [
                replace(_stated(each), is_named=False) for each in parameters.of_study(study) if each.is_uncertain
            ]
            continue
        name, _, span = word.partition("=")
        parameter = parameters.named(study, name.strip())
        found.append(_given(parameter, span.strip()) if "=" in word else _stated(parameter))
    double = next((v.parameter.key for v in found if sum(v.parameter == w.parameter for w in found) > 1), None)
    if double is not None:
        raise UsageError(f"`{double}` is varied twice", hint="one `--vary` for each parameter")
    if not found:
        raise UsageError(
            f"no model of study {study.name} states a range", hint=f"give one: `--vary PARAM={RANGE_FORM.split()[0]}`"
        )
    return found


def _stated(parameter: Parameter) -> Variation:
    if not parameter.is_uncertain:
        raise UsageError(
            f"`{parameter.key}` states no range ({three(parameter.value)} {parameter.unit}, {parameter.confidence})",
            hint=f"give one: `--vary {parameter.key}={three(parameter.value / 2)}..{three(parameter.value * 2)}`",
        )
    return Variation(parameter, _points(parameter, float(parameter.low), float(parameter.high), POINTS))


NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"


def _given(parameter: Parameter, span: str) -> Variation:
    if re.fullmatch(rf"{NUMBER}(?:\s*,\s*{NUMBER})+", span):
        return _checked(parameter, tuple(sorted({*(float(each) for each in span.split(",")), parameter.value})))
    match = re.fullmatch(rf"({NUMBER})\s*\.\.\s*({NUMBER})(?:\s*/\s*(\d{{1,9}}))?", span)
    if match is None:
        raise UsageError(f"`{span}` is no range for `{parameter.key}`", hint=f"write {RANGE_FORM}, in {parameter.unit}")
    low, high, points = float(match[1]), float(match[2]), int(match[3] or POINTS)
    if not low < high:
        raise UsageError(
            f"the range {span} of `{parameter.key}` runs backwards or is empty", hint=f"write {RANGE_FORM}"
        )
    if not 2 <= points <= POINTS_MAX:
        raise UsageError(f"{points} points for `{parameter.key}`, but there must be 2 to {POINTS_MAX}")
    return _checked(parameter, _points(parameter, low, high, points))


def _checked(parameter: Parameter, values: tuple[float, ...]) -> Variation:
    if len(values) > POINTS_MAX:
        raise UsageError(f"{len(values)} values for `{parameter.key}`, but there must be 2 to {POINTS_MAX}")
    for value in values:
        reason = parameter.reason_against(value)
        if reason is not None:
            raise _impossible(parameter, value, reason)
    return Variation(parameter, values, is_given=True)


def _impossible(parameter: Parameter, value: float, reason: str) -> UsageError:
    return UsageError(f"`{parameter.key}` cannot be {three(value)} {parameter.unit}: {reason}")


def _points(parameter: Parameter, low: float, high: float, points: int) -> tuple[float, ...]:
    """Evenly spread, with the model's own value among them; whole numbers where the model has one and the ends are."""
    spread = [low + (high - low) * i / (points - 1) for i in range(points)]
    if all(value == int(value) for value in (parameter.value, low, high)):
        spread = [float(round(value)) for value in spread]
    if points == POINTS and low < parameter.value < high:
        spread = [low, parameter.value, high]
    return tuple(sorted({*spread, parameter.value}))


def run(
    study: Study, variations: Sequence[Variation], backend: SimulatedBackend, *, seed: int | None, tell: Tell
) -> Iterator[Sensitivity]:
    """Runs the study as it is, then at each other value, and compares; each variation is handed out once it is through."""
    repetitions = min(study.design.repetitions, REPETITIONS)
    asked = _asked(study, backend)
    left = [each for each in variations if not _is_asked(study, each, backend, asked)]
    for variation in left:
        yield _without_effect(study, variation, ParameterEffect.NOT_ASKED)
    variations = [each for each in variations if each not in left]
    if not variations:
        return
    total = 1 + OTHER_SEEDS + sum(len(each.values) - 1 for each in variations)
    pace = _Pace(total, tell)
    usual = _records(study, backend, repetitions, seed)
    pace.step()
    if not any(record.phases for record in usual):
        raise RefusedError(
            f"nothing of study {study.name} can be simulated", hint="`seekwise run STUDY --dry-run` says why"
        )
    first = study.design.seed if seed is None else seed
    said = conclusions(study, usual)
    chance: set[str] = set()
    for step in range(1, OTHER_SEEDS + 1):
        other = conclusions(study, _records(study, backend, repetitions, first + step))
        chance |= {name for name, outcome in said.items() if other.get(name) != outcome}
        pace.step()
    for variation in variations:
        parameter = variation.parameter
        by_value, left_out = {parameter.value: usual}, {}
        for value in variation.values:
            if value == parameter.value:
                continue
            outcome = parameter.reason_against(value) or _at(study, parameter, value, backend, repetitions, seed, usual)
            pace.step()
            if not isinstance(outcome, str):
                by_value[value] = outcome
            elif variation.is_given:
                raise _impossible(parameter, value, outcome)
            else:
                left_out[value] = outcome
        if len(by_value) > 1 and all(_results(each) == _results(usual) for each in by_value.values()):
            yield replace(_without_effect(study, variation, ParameterEffect.SAME_RESULTS), left_out=left_out)
        else:
            yield replace(_compared(study, variation, by_value, chance), left_out=left_out)


def _without_effect(study: Study, variation: Variation, effect: ParameterEffect) -> Sensitivity:
    """What there is to say of a parameter without effect; UsageError where a person asked for it by name."""
    parameter = variation.parameter
    if variation.is_named:
        raise UsageError(
            f"`{parameter.key}` has no effect on study {study.name}: {WHY_NONE[effect]}",
            hint="vary another parameter, or give the study a load that depends on this one",
        )
    return Sensitivity(variation, {parameter.value: {}}, effect=effect)


def _is_asked(study: Study, variation: Variation, backend: SimulatedBackend, asked: list[str]) -> bool:
    """Whether the parameter reaches the simulator at any value that can be."""
    parameter = variation.parameter
    for value in variation.values:
        if value == parameter.value or parameter.reason_against(value) is not None:
            continue
        try:
            if _asked(parameters.with_values(study, {parameter.key: value}), backend) != asked:
                return True
        except SeekwiseError:
            # Its run says what is wrong with the value.
            return True
    return all(value == parameter.value or parameter.reason_against(value) for value in variation.values)


def _results(records: Sequence[Record]) -> list[tuple[object, ...]]:
    """What was measured, without what it was asked for with."""
    found = [(each.combination, each.setting, each.repetition, each.phases, each.conditions) for each in records]
    return sorted(found, key=lambda each: (each[0], each[1], each[2]))


class _Pace:
    def __init__(self, total: int, tell: Tell) -> None:
        self.total, self.done, self.tell, self.started = total, 0, tell, time.monotonic()

    def step(self) -> None:
        self.done += 1
        self.tell(self.done, self.total, (time.monotonic() - self.started) / self.done * (self.total - self.done))


def _at(
    study: Study,
    parameter: Parameter,
    value: float,
    backend: SimulatedBackend,
    repetitions: int,
    seed: int | None,
    usual: list[Record],
) -> list[Record] | str:
    """The records at one value, or why there are none: systems with the model run again, the others stay as they are."""
    touched = [s for s in study.system if parameter.model in parameters.models_of(study, s)]
    names = {system.name for system in touched}
    # The whole study is planned and only part of it is run.
    varied = parameters.with_values(study, {parameter.key: value})
    try:
        fresh = _records(varied, backend, repetitions, seed, only=names)
    except SeekwiseError as error:
        return error.message
    usual_reasons = _reasons(usual)
    wrong = next((reason for reason in _reasons(fresh) if reason not in usual_reasons), None)
    if wrong is not None:
        return wrong
    return [*fresh, *(record for record in usual if record.factors.get("system") not in names)]


def _reasons(records: Sequence[Record]) -> list[str]:
    """Why operations have no answer, each once."""
    found = [str(r) for record in records for r in (record.conditions.get("not_modelled") or {}).values()]
    return list(dict.fromkeys(found))


def _quiet(study: Study) -> Study:
    return study.model_copy(update={"design": study.design.model_copy(update={"control": False, "sentinel": False})})


def _asked(study: Study, backend: SimulatedBackend) -> list[str]:
    """What the simulator is asked in one repetition of the study."""
    quiet = _quiet(study)
    made = plan.make(quiet, backend.describe(quiet), seed=1, repetitions=1)
    with backend.session(made, "vary", lambda _: None) as session:
        return session.asked(made.trials)


def _records(
    study: Study, backend: SimulatedBackend, repetitions: int, seed: int | None, only: set[str] | None = None
) -> list[Record]:
    quiet = _quiet(study)
    made = plan.make(quiet, backend.describe(quiet), seed=seed, repetitions=repetitions)
    trials = [trial for trial in made.trials if only is None or made.combinations[trial.combination].system in only]
    with backend.session(made, "vary", lambda _: None) as session:
        return list(session.run(trials, {}))


def conclusions(study: Study, records: Sequence[Record]) -> dict[str, str]:
    """What a reader would take from the records, each as a name and a short outcome."""
    found: dict[str, str] = {}
    shown = printed(study.table, (), records, Style())
    for table in shown.tables:
        for block in table.blocks:
            for operation, row in block.rows.items():
                for cell in row:
                    if cell.word != MISSING:
                        metric = cell.metric.replace("_", " ")
                        found[f"Table {table.number}, {block.title}: {NAMES[operation]}, {metric}"] = _word(cell.word)
    means = Means.of(records)
    if not study.table:
        found |= _best(means)
    for each in schedulers.comparisons(means):
        groups = [" + ".join(sorted(members)) for members in each.groups] if each.is_clear else ["no clear groups"]
        found[f"groups in {each.place}"] = "all level" if each.is_level else " over ".join(groups)
    for finding in insights.everything(records, study.system):
        numbers = finding.numbers
        if finding.kind in ("threshold", "doubling"):
            what = "beats one drive from" if finding.kind == "threshold" else "reaches twice one drive from"
            for system, thresholds in numbers["arrays"].items():
                for operation, size in thresholds.items():
                    outcome = "nowhere" if size is None else size_word(size)
                    found[f"{system} {what}, {NAMES[operation]}"] = outcome
        elif finding.kind == "chunk":
            found[f"best chunk under Linux {numbers['kernel']}"] = f"{numbers['best_kib']} KiB"
    return found


def _word(word: str) -> str:
    return "tie" if word == "=" else word


def _best(means: Means) -> dict[str, str]:
    """The best setting of each operation on each system over all threads, `tie` where the two best are."""
    found: dict[str, str] = {}
    for metric in ("rate", "access_time"):
        sums: dict[tuple[str, str], dict[str, list[float]]] = {}
        for (system, setting, operation, _, _), value in means.values[metric].items():
            sums.setdefault((system, operation), {}).setdefault(setting, []).append(value)
        more = METRICS[metric][1]
        for (system, operation), settings in sums.items():
            order = sorted(((sum(v) / len(v), name) for name, v in settings.items()), reverse=more)
            if len(order) > 1:
                (first, one), (second, two) = order[:2]
                winner = decide(first, second, (one, two), more)
                found[f"best {metric.replace('_', ' ')} in {NAMES[operation]} on {system}"] = winner
    return found


def _compared(
    study: Study, variation: Variation, by_value: dict[float, list[Record]], chance: Collection[str]
) -> Sensitivity:
    said = {value: conclusions(study, records) for value, records in by_value.items()}
    return Sensitivity(variation, said, flips_of(variation, said, chance), _figures(by_value))


def flips_of(variation: Variation, said: dict[float, dict[str, str]], chance: Collection[str]) -> list[Flip]:
    """`said`: {value: conclusions}. `chance`: those that another seed changes, too; their flips come last."""
    usual = said[variation.parameter.value]
    flips = []
    for name in usual:
        changed = {
            value: words.get(name, "no answer") for value, words in said.items() if words.get(name) != usual[name]
        }
        if changed:
            inside = any(variation.within_stated(value) for value in changed)
            flips.append(Flip(name, usual[name], changed, inside, name in chance))
    return sorted(flips, key=lambda flip: (flip.by_chance, not flip.within_stated))


def _figures(by_value: dict[float, list[Record]]) -> dict[float, dict[str, float]]:
    """Mean rates over settings and threads by system and operation."""
    found: dict[float, dict[str, float]] = {}
    for value, records in by_value.items():
        groups: dict[str, list[float]] = {}
        for (system, _, operation, _, _), throughput in Means.of(records).values["rate"].items():
            groups.setdefault(f"{NAMES[operation]} on {system}", []).append(throughput)
        found[value] = {name: sum(throughputs) / len(throughputs) for name, throughputs in groups.items()}
    return found


def moved(sensitivity: Sensitivity, count: int = 3) -> list[str]:
    """The mean rates that move most over the values, in words."""
    values = sorted(sensitivity.figures)
    shares = []
    for name in sensitivity.figures[values[0]] if values else ():
        throughputs = [sensitivity.figures[value].get(name, 0.0) for value in values]
        if max(throughputs) > 0:
            shares.append(((max(throughputs) - min(throughputs)) / max(throughputs), name, throughputs))
    shares.sort(key=lambda each: -each[0])
    unit = UNITS["rate"]
    return [
        f"{name} goes {' to '.join(three(throughput) for throughput in throughputs)} {unit} ({100 * share:.0f} %)"
        for share, name, throughputs in shares[:count]
        if share >= 0.005
    ]
