"""What to set for one use, or on one of several systems, in words, with what it costs where it costs most."""

from __future__ import annotations

from seekwise.judge.for_use import ForSystem, Weighing
from seekwise.judge.study_outcome import combination_name
from seekwise.judge.system_choices import OVERALL
from seekwise.judge.workloads import OperationMix
from seekwise.number_text import plain_settings
from seekwise.report.content import Advice, ReportContent
from seekwise.report.outcome import advice, cautions, times
from seekwise.store.database import IMPORTED
from seekwise.workload.live_plan import CONTROL_SUFFIX
from seekwise.workload.study.factors import factor
from seekwise.workload.study.plan import Plan

NOT_COVERED_MUCH = 0.2


def of_system(answer: ForSystem, content: ReportContent) -> Advice:
    """`content`: of the whole run."""
    if answer.weighing is not None:
        return of_use(answer.weighing, answer.outcome.plan)
    return advice(answer.outcome) if len(content.systems) > 1 else content.advice


def of_use(weighing: Weighing, plan: Plan) -> Advice:
    """`plan`: of what competes."""
    weighed, workload = weighing.weighed, weighing.weighed.workload
    reference, best = weighed.reference, weighing.best
    caution = (*cautions(plan), *_warnings(weighing))
    if len(weighed.standings) < 2:
        return Advice(
            f"Only {plain_settings(reference)} was tested, so there is nothing to choose from.", caution=caution
        )
    if not weighed.best:
        # What was in force where other tools measured is not known.
        keep = "" if plan.backend == IMPORTED else f" Keep {plain_settings(reference)}."
        return Advice(f"Not measured long enough for {workload.name} to tell settings apart.{keep}", caution=caution)
    if best is None:
        take, what = ("Build", "array") if _is_built(reference, plan) else ("Keep", "setting")
        return Advice(
            f"{take} {plain_settings(reference)}: {_where(workload)} no tested {what} is better.", caution=caution
        )
    take, rather = ("Build", "rather than") if _is_built(reference, plan) else ("Set", "instead of")
    return Advice(
        f"{take} {plain_settings(best)} {rather} {plain_settings(reference)} for {workload.name}.",
        _reasons(weighing, plan),
        weighing.lines.set,
        weighing.lines.undo,
        caution,
    )


def _is_built(label: str, plan: Plan) -> bool:
    """Whether a setting is an array to build: nothing of the kind is in force."""
    values = next((setting.values for setting in plan.settings if setting.label == label), {})
    return any(row is not None and row.where == "build" for row in map(factor, values))


def _warnings(weighing: Weighing) -> list[str]:
    said = []
    if weighing.weighed.not_covered > NOT_COVERED_MUCH:
        said.append(f"{100 * weighing.weighed.not_covered:.0f} % of this work is represented by no trial of the run")
    if weighing.unsafe:
        named = (plain_settings(name) for name in weighing.unsafe if not name.endswith(CONTROL_SUFFIX))
        said.append(f"{', '.join(named)} left out: one failed drive loses all data")
    return said


def _reasons(weighing: Weighing, plan: Plan) -> tuple[str, ...]:
    weighed = weighing.weighed
    standing = next(other for other in weighed.standings if other.setting == weighing.best)
    _, low, high = standing.ratios["rate"]
    reasons = [f"rate, weighted by the shares of its operations: {times(low, high, more_is_better=True)}"]
    others = [name for name in weighed.best if name != standing.setting]
    if others:
        reasons.append(f"about as good: {', '.join(map(plain_settings, others))}")
    if standing.regret > 0.01:
        reasons.append(
            f"largest loss: {combination_name(standing.regret_combination, plan, pooled=True)}, {100 * standing.regret:.0f} % below the best rate there"
        )
    return tuple(reasons)


def _where(workload: OperationMix) -> str:
    return "over all its operations" if workload.name == OVERALL.name else f"for {workload.name}"
