"""A stored run judged, whichever way it was measured, and the outcome of a live-switched one; that of a study: `study_outcome.py`.

`of` is the one place that asks which way that was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seekwise import invocation
from seekwise.control.lines import ShellLines, shell_lines
from seekwise.errors import UsageError
from seekwise.judge import believable, study_outcome
from seekwise.judge.decision.choose import Choice
from seekwise.judge.decision.found_load import found_load
from seekwise.judge.decision.records import Decided, decided, without_control
from seekwise.judge.decision.verdicts import Judged
from seekwise.judge.disturbance import SAID, disturbance
from seekwise.judge.study_outcome import StudyOutcome, study_of
from seekwise.store import damage
from seekwise.store.database import Run, Store
from seekwise.store.record import Record
from seekwise.workload.live_plan import LivePlan, stored
from seekwise.workload.purpose import PURPOSES, Purpose
from seekwise.workload.study import uses
from seekwise.workload.study.study import Study

NAMED_MOST = 4
"""Uses that a note names; the document has all."""


@dataclass(frozen=True)
class LiveOutcome:
    """A live-switched run judged use by use."""

    run: Run
    plan: LivePlan
    records: list[Record]
    decided: Decided
    seconds: float
    asked: Choice | None = None
    """The choice for a purpose or group that was asked for afterwards."""
    purpose: Purpose | None = None
    """The purpose that was asked for afterwards."""

    @property
    def provenance(self) -> str:
        """measured, virtual or simulated."""
        return self.plan.provenance

    @property
    def named(self) -> Sequence[Judged]:
        """Every figure of every use."""
        return self.decided.judged

    @property
    def choice(self) -> Choice | None:
        """For the uses that were asked for by name, else for whatever may come.

        None under a live load that cannot be judged by.
        """
        if no_verdict(self) is not None:
            return None
        if self.asked is not None:
            return self.asked
        if self.plan.group is not None:
            return self.decided.stated
        wanted = {choice.setting: choice for choice in self.decided.by_purpose.values()}
        # What every purpose wants is what the headline advises.
        agreed = next(iter(wanted.values())) if len(wanted) == 1 else None
        return agreed if agreed is not None and agreed.changes else self.decided.choice

    @property
    def divided(self) -> dict[Purpose, str]:
        """{purpose: setting} where purposes want different settings and none was asked for: no setting is right for all of them."""
        if self.choice is None or self.asked is not None or self.plan.group is not None:
            return {}
        wanted = {purpose: choice.setting for purpose, choice in self.decided.by_purpose.items()}
        return wanted if len(set(wanted.values())) > 1 else {}

    @property
    def lines(self) -> ShellLines:
        """Shell lines that set and undo the choice; none when nothing changes, or purposes want different settings."""
        choice = self.choice
        if choice is None or not choice.changes or self.divided or self.plan.provenance != "measured":
            return ShellLines((), ())
        candidate = next(compared for compared in self.plan.candidates if compared.label == choice.setting)
        return shell_lines(candidate.changes, self.plan.current)


Outcome = StudyOutcome | LiveOutcome


def of_runs(store: Store, *runs: Run, brief: bool = False) -> Outcome:
    """Judges a stored run again from its records, or several of one study as one. UsageError where they cannot be one.

    `brief`: for the words alone, with records shortened to what they need (`codec.Brief`), a tenth of the memory.
    """
    with damage.reading("+".join(run.run_id for run in runs)):
        outcomes = [_one(store, run, brief=brief) for run in runs]
        if len(outcomes) == 1:
            return outcomes[0]
        parts = [part for part in outcomes if isinstance(part, StudyOutcome)]
        if len(parts) < len(outcomes):
            raise UsageError("runs of `tune` cannot be merged", hint="`seekwise compare RUN RUN` compares two runs")
        return study_outcome.merged(parts)


def _one(store: Store, run: Run, *, brief: bool) -> Outcome:
    study = study_of(run)
    # Short records have neither the histograms that tell a prediction, which no study made, nor what it takes to see an array with a failed drive.
    whole = study is None or _has_arrays(study)
    return from_records(run, list(store.records(run.run_id, brief=brief and not whole)), study)


def from_records(run: Run, records: list[Record], study: Study | None = None) -> Outcome:
    """The outcome of a run whose records are at hand. SeekwiseError where its plan cannot be read."""
    plan = stored(run.plan)
    if isinstance(plan, LivePlan):
        return judged(run, plan, records)
    outcome = StudyOutcome(run, plan, records, study if study is not None else study_of(run))
    outcome.decided  # noqa: B018  judged here, where what is garbled is an error about this run
    return outcome


def _has_arrays(study: Study) -> bool:
    return "raid_level" in study.factor_names() or any(system.raid_level for system in study.system)


def judged(run: Run, plan: LivePlan, records: list[Record]) -> LiveOutcome:
    """The outcome of these records. Its seconds are those up to the end of the last period."""
    seconds = max((float(r.conditions["start_s"]) + float(r.conditions["length_s"]) for r in records), default=0.0)
    # Of a staged run only what the last candidates did is compared; the stages before are told in the plan.
    labels = set(plan.labels)
    compared = [record for record in records if without_control(record.setting) in labels]
    return LiveOutcome(run, plan, compared, decided(compared, plan), seconds)


def no_verdict(outcome: LiveOutcome) -> str | None:
    """Why nothing can be advised: a live load that was none or too uneven, or others that used most of the machine; None when it can."""
    load = found_load(outcome.records)
    return load.text if load is not None else disturbance(outcome.records).forbids


def for_purpose(outcome: LiveOutcome, purpose: str) -> LiveOutcome:
    """The same run asked for one purpose, or for one group of its uses: the answer names what was measured of it and nothing else.

    UsageError when nothing was.
    """
    for name, choice in outcome.decided.by_purpose.items():
        if name == purpose:
            # All that was judged stays: what the choice makes worse elsewhere is its price.
            return replace(outcome, asked=choice, purpose=name)
    of_group = outcome.decided.by_group.get(purpose)
    if of_group is None:
        is_purpose = purpose in PURPOSES
        if not is_purpose:
            uses.chosen(purpose)  # what no use is called is not to be measured either
        measured = ", ".join([*outcome.decided.by_group, *outcome.decided.by_purpose]) or "nothing"
        option = "" if is_purpose else f" --for {purpose}"
        raise UsageError(
            f"run {outcome.run.run_id} did not measure {purpose!r}",
            hint=f"it measured {measured}; `{invocation.line(f'sudo seekwise tune PATH{option}')}` measures it",
        )
    own = [entry for entry in outcome.decided.judged if entry.group == purpose]
    plan = replace(
        outcome.plan,
        group=purpose,
        uses=tuple(use for use in outcome.plan.uses if use.group == purpose),
        left_out=(),
    )
    within = replace(outcome.decided, judged=tuple(own), by_purpose={})
    return replace(outcome, plan=plan, asked=of_group, decided=within)


def notes(outcome: LiveOutcome) -> list[str]:
    """What a reader must know beside the answer, in sentences. SeekwiseError where a record holds what none can."""
    with damage.reading(outcome.run.run_id):
        return _notes(outcome)


def _notes(outcome: LiveOutcome) -> list[str]:
    said = believable.implausible_periods(outcome.records, outcome.plan.uses)
    for record in outcome.records:
        said += [str(sentence) for sentence in record.conditions.get("said", [])]
    measured = {record.factors.get("use") for record in outcome.records}
    missing = [use.name for use in outcome.plan.uses if use.name not in measured]
    if missing:
        said.append(f"No result for {', '.join(missing)}: the load did not run or time was up")
    never = [label for label in outcome.plan.labels if all(record.setting != label for record in outcome.records)]
    if never and outcome.records:
        said.append(f"Nothing is known of {', '.join(never)}: time was up before, or the run was ended")
    others = disturbance(outcome.records)
    if others.most > SAID:
        by = _programs(outcome.records)
        who = f" ({', '.join(by[:3])})" if by else ""
        said.append(f"{others.text}{who}" + ("" if others.forbids else "; the intervals include that noise"))
    invalid = [record for record in outcome.records if not record.valid]
    if invalid:
        said.append(f"{len(invalid)} of {len(outcome.records)} periods discarded: {invalid[0].invalid_reason}")
    # What was planned comes after what happened, of which a terminal has room for two.
    if left_out := outcome.plan.left_out:
        more = f" and {len(left_out) - NAMED_MOST} more" if len(left_out) > NAMED_MOST else ""
        said.append(f"Not measured in this budget: {', '.join(left_out[:NAMED_MOST])}{more}")
    pressure = _pressure(outcome.records)
    return [*said, *outcome.plan.notes, *([pressure] if pressure else [])]


def _programs(records: list[Record]) -> list[str]:
    """Programs that did I/O in these periods, each once with what it moved in all, most first: `rsync (pid 812, 14.2 MB)`."""
    moved: dict[tuple[str, int], int] = {}
    for record in records:
        for other_program in record.conditions.get("other_programs", []):
            if isinstance(other_program, dict):  # a run of 0.1 kept sentences
                who = (str(other_program["name"]), int(other_program["pid"]))
                moved[who] = moved.get(who, 0) + int(other_program["io_bytes"])
    most_first = sorted(moved.items(), key=lambda pair: -pair[1])
    return [f"{name} (pid {pid}, {count / 1e6:.1f} MB)" for (name, pid), count in most_first]


def _pressure(records: list[Record]) -> str | None:
    """How much of the time some task waited for I/O under each setting, where the kernel tells."""
    shares: dict[str, list[float]] = {}
    for record in records:
        if isinstance(value := record.conditions.get("io_pressure"), float):
            shares.setdefault(record.setting, []).append(value)
    if not shares:
        return None
    parts = [f"{100 * sum(share) / len(share):.0f} % under {name}" for name, share in shares.items()]
    return f"Some program waited for I/O in {', '.join(parts)} of the time (/proc/pressure/io, the whole machine)"
