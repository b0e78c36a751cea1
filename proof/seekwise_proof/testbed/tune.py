"""The same uses under a real kernel in a VM, on a virtual drive and in virtual time: `tune lab:MODEL`.

Each candidate has a guest's fresh drive for each round; nothing has to be switched under load, as nothing drifts. Results are those of
this kernel's own schedulers and page cache, not of a model of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from seekwise.errors import SeekwiseError
from seekwise.measure.live import jobs, logs, record, simulated
from seekwise.measure.live.candidates import Candidates
from seekwise.measure.live.fio_load import FioLoad
from seekwise.measure.live.prepare import MIB, PreparedTarget
from seekwise.measure.live.simulated import Model
from seekwise.store.database import Run, Store
from seekwise.store.record import Record
from seekwise.workload.live_plan import Candidate, LivePlan
from seekwise.workload.study.factors import Value
from seekwise.workload.study.uses import Use
from seekwise_proof.testbed import backend, image, kernels, machine, script
from seekwise_proof.testbed import tune_programs as virtual_programs
from seekwise_proof.testbed.cpio import CpioEntry

PREFIX = "lab:"
BACKEND, PROVENANCE = "lab", "virtual"
HOST = " in qemu"
DOING = "in guests"
ROUNDS = 3
SECONDS = {True: (1.5, 5.0), False: (0.3, 0.7)}
"""{rotational: (before what counts, what counts)}, in virtual time."""
USES_MOST = 4
"""Without `--for`: software emulation takes some ten seconds for each use, candidate and round."""
MEMORY_BYTES = 192 * MIB
STORE_BYTES = 256 * MIB
TRIALS_PER_GUEST = 4


@dataclass(frozen=True)
class GuestTrial:
    use: Use
    number: int
    """Of the round."""
    candidate: Candidate
    seed: int


def model_of(target: str, kernel: str | None) -> Model:
    """The model that `lab:NAME` names, under a kernel that the VM testbed has; UsageError otherwise."""
    series = kernels.find(kernel).series
    return simulated.model_of(simulated.PREFIX + target.removeprefix(PREFIX), series)


def candidates(model: Model, wanted: dict[str, list[Value]]) -> Candidates:
    """As on the simulator; settings that the guest cannot make are refused."""
    found = simulated.candidates(model, wanted)
    for each in found.all:
        script.settings(each.values)
    return found


def can_run(use: Use) -> str | None:
    """Why a use cannot run on a virtual drive; None when it can."""
    if use.runs_programs:
        return virtual_programs.why_not(use)
    if any(job.fio is not None for job in use.job):
        return "has a fio job of your own"
    if use.drives is not None:
        return "loads several processors, and the guest has one"
    if any(job.uses_read_ahead for job in use.job):
        return "runs programs or opens files, and the virtual drive has no file system"
    return None


def carry_out(
    store: Store,
    run: Run,
    plan: LivePlan,
    model: Model,
    say: Callable[[str], None],
    tell: Callable[[str, float], None] = lambda *_: None,
) -> None:
    """Boots guests until every use ran `ROUNDS` times under every candidate; writes the records down as they come.

    `say`: what the building of an image says. `tell`: (use, share done).
    """
    uses, guests = plan.uses, backend.default_guests()
    machine.qemu()
    built = image.build(kernels.find(model.kernel), say)
    packed = {use.name: virtual_programs.packed(use, say) for use in uses if use.runs_programs}
    store.add_run(run)
    seed = run.seed or 0
    trials = [
        GuestTrial(use, number, candidate, seed + number)
        for use in uses
        for number in range(ROUNDS)
        for candidate in plan.candidates
    ]
    groups = _groups(trials)
    done = itertools.count()
    for group, result in zip(groups, machine.boot_all(_boots(groups, model, built, packed), guests), strict=True):
        for place, trial in enumerate(group):
            index = next(done)
            made = _programs_record if trial.use.runs_programs else _record
            store.add(made(run.run_id, index, place, trial, model, built, result))
        tell(group[-1].use.title, (index + 1) / len(trials))


def _groups(trials: list[GuestTrial]) -> list[list[GuestTrial]]:
    """Of one guest each: some trials with fio's loads, or one with programs, whose data fill the guest's memory."""
    groups: list[list[GuestTrial]] = []
    for trial in trials:
        alone = trial.use.runs_programs
        last = groups[-1] if groups else []
        if not last or alone or len(last) == TRIALS_PER_GUEST or last[0].use.runs_programs:
            groups.append([])
        groups[-1].append(trial)
    return groups


def _boots(
    groups: list[list[GuestTrial]], model: Model, built: image.Image | None, packed: dict[str, dict[str, CpioEntry]]
) -> Iterator[machine.Boot]:
    for group in groups:
        texts, files, virtual_s, memory_mib, cpu = [], dict[str, CpioEntry](), 0.0, machine.MEMORY_MIB, machine.CPU
        for place, trial in enumerate(group):
            storage, values = _storage(model, trial.candidate), trial.candidate.values
            if trial.use.runs_programs:
                spec, command = virtual_programs.spec(trial.use, place, model.rotational, trial.seed)
                text, own = script.programs_trial(place, storage, values, trial.seed, spec, command)
                own |= packed[trial.use.name]
                memory_mib, cpu = virtual_programs.MEMORY_MIB, machine.CPU_OF_PROGRAMS
                virtual_s += virtual_programs.expected_s(model.rotational)
            else:
                load = _load(trial, model)
                limit = MEMORY_BYTES if load.buffered else None
                text, own = script.use_trial(place, storage, values, trial.seed, load.text, limit)
                virtual_s += sum(SECONDS[model.rotational])
            texts.append(text)
            files |= own
        files["cell/run.sh"] = CpioEntry.file("".join(texts).encode())
        yield machine.Boot(built, files, backend.BOOT_TIMEOUT_S + backend.SLOWEST * virtual_s, memory_mib, cpu)


def _storage(model: Model, candidate: Candidate) -> script.Storage:
    return backend.storage(model.system, candidate.values)


def _load(trial: GuestTrial, model: Model) -> FioLoad:
    start = model.capacity_bytes // 4
    prepared = PreparedTarget(
        folder=None,
        data_bytes=min(simulated.DATA_BYTES, model.capacity_bytes // 4),
        store_bytes=min(STORE_BYTES, model.capacity_bytes // 16) // MIB * MIB,
        stores=0,
        parts=0,
        memory_limit_bytes=MEMORY_BYTES,
        device=Path("/dev") / _storage(model, trial.candidate).top,
        offset_bytes=start - start % MIB,
    )
    return jobs.fio_of_use(trial.use, prepared, trial.seed, sum(SECONDS[model.rotational]))


def _record(
    run_id: str, index: int, place: int, trial: GuestTrial, model: Model, built: image.Image, result: machine.Output
) -> Record:
    load = _load(trial, model)
    files = {
        name.removeprefix(f"{place}/"): text
        for name, text in result.files.items()
        if name.startswith(f"{place}/") and name.endswith(".log")
    }
    operations = {job: logs.read(files, prefixes) for job, prefixes in load.logs.items()}
    began = [each.end_s[0] for each in operations.values() if len(each.end_s)]
    if not began:
        raise SeekwiseError(
            f"fio did nothing in the guest: {result.text(f'{place}/fio').strip()[-300:] or 'no reason given'}"
        )
    before_s, counted_s = SECONDS[model.rotational]
    start = min(began)
    seen = backend.settings_seen(result.text(f"{place}/seen"))
    made = record.alone(
        trial.use,
        trial.candidate,
        trial.number,
        (start, start + before_s + counted_s),
        operations,
        settings_seen=seen,
        job_text=load.text,
        run_id=run_id,
        index=index,
        cut_s=before_s,
        # fio stops what it is at when its time is over: the last twentieth does not count.
        counted_s=counted_s * 0.95,
        seed=trial.seed,
        environment={"kernel": f"Linux {built.release} (in qemu)", "drive": model.title},
        fio_version="fio-3.33",
    )
    return _checked(made, place, trial, result, seen)


def _checked(made: Record, place: int, trial: GuestTrial, result: machine.Output, seen: dict) -> Record:
    """Marked as virtual; not valid where a setting was not in force all the time."""
    after = backend.settings_seen(result.text(f"{place}/seen.after"))
    reason = backend.reason_against(seen, after, trial.candidate.values) or made.invalid_reason
    made = replace(made, provenance="virtual", valid=reason is None, invalid_reason=reason)
    return replace(made, conditions={**made.conditions, "host_s": round(result.host_s, 1)})


def _programs_record(
    run_id: str, index: int, place: int, trial: GuestTrial, model: Model, built: image.Image, result: machine.Output
) -> Record:
    began_s, ended_s, operations = virtual_programs.units(trial.use, place, result)
    seen = backend.settings_seen(result.text(f"{place}/seen"))
    made = record.alone(
        trial.use,
        trial.candidate,
        trial.number,
        (began_s, ended_s),
        operations,
        settings_seen=seen,
        run_id=run_id,
        index=index,
        cut_s=0.0,
        counted_s=ended_s - began_s,
        seed=trial.seed,
        environment={"kernel": f"Linux {built.release} (in qemu)", "drive": model.title},
    )
    return _checked(made, place, trial, result, seen)


def check_uses(uses: list[Use], *, named: bool) -> tuple[list[Use], list[str]]:
    """(uses that run, what is said of the others); UsageError when none is left. `named`: the user asked for them."""
    left, said = simulated.able(
        uses, can_run, "`seekwise tune model:NAME` simulates it, or choose other uses with --for"
    )
    return left, said if named else []


def played_otherwise(_: tuple[Use, ...]) -> list[str]:
    """What is not as on a machine of one's own."""
    return [
        (
            "The guest has one processor and virtual time: figures are those of its kernel and the modelled drive, "
            f"not of a fast or slow host ({ROUNDS} rounds)"
        )
    ]
