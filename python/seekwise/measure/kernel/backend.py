"""The kernel backend as the study sees it: describes systems, opens a session."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager

from seekwise import invocation
from seekwise.errors import MissingError, UsageError
from seekwise.measure.kernel import fio, memory, prepared_target, session, tiotest
from seekwise.measure.kernel.target import Target, find
from seekwise.simulate.protocol import Options, Say
from seekwise.workload.study.factors import Value, factor
from seekwise.workload.study.plan import Plan, SystemFacts
from seekwise.workload.study.profiles import resolve
from seekwise.workload.study.study import Study


class KernelBackend:
    provenance = "measured"

    def __init__(self, options: Options) -> None:
        self.options = options
        self.targets: dict[str, Target] = {}

    def describe(self, study: Study) -> tuple[SystemFacts, ...]:
        """Facts by system. Raises MissingError (exit status 4) without fio or tiotest, UsageError (2) for what cannot
        run here."""
        fio.find()
        if any(workload.program == tiotest.NAME for workload in study.workload):
            tiotest.find()
        if any(workload.program == "gnome-disks" for workload in study.workload):
            raise UsageError(
                f"study {study.name}: gnome-disks has no command line, so it cannot be run here",
                hint="measure with gnome-disks itself; `seekwise import FILE` reads ~/.cache/gnome-disks/benchmarks/*",
            )
        memory.remove_left_behind()
        self.targets = self._targets(study)
        _check_can_build(study)
        check_caches(study)
        for target in self.targets.values():
            for values in _wanted(study):
                prepared_target.check(target.changes(values))
        return tuple(self._facts(name, target, study) for name, target in self.targets.items())

    def _targets(self, study: Study) -> dict[str, Target]:
        if self.options.target is not None and len(study.system) > 1:
            raise UsageError(f"study {study.name} has {len(study.system)} systems, so `--target` is ambiguous")
        targets = {}
        for system in study.system:
            path = self.options.target or system.target
            if path is None:
                raise UsageError(
                    f"system {system.name} of study {study.name} has no `target`",
                    hint="name a folder or block device with `--target`, or simulate it with `--backend simulated`",
                )
            targets[system.name] = find(path)
        return targets

    def _facts(self, name: str, target: Target, study: Study) -> SystemFacts:
        offered = [set(leaf.schedulers_offered) for leaf in target.leaves]
        shared = tuple(
            scheduler
            for scheduler in target.leaves[0].schedulers_offered
            if all(scheduler in names for names in offered)
        )
        root = os.geteuid() == 0
        names = tuple(device.name for device in target.resolved.chain())
        others = ", ".join(scheduler for scheduler in shared if scheduler != target.leaves[0].scheduler)
        return SystemFacts(
            name=name,
            target=str(target.path),
            stack=target.lines,
            leaves=target.leaf_names,
            offered=shared,
            current=prepared_target.current_settings(names),
            scheduler=target.leaves[0].scheduler,
            where={word: target.places(row) for word in study.factor_names() if (row := factor(word)) is not None},
            speed=_speed(target),
            warnings=target.warnings,
            may_change=root,
            why_not="" if root else f"as root this would also try {others or 'other settings'}: use sudo",
        )

    def check(self, plan: Plan) -> None:
        """Refuses, before anything is touched or written down, what the session would refuse."""
        tiotest.check(plan.combinations)
        for facts in plan.systems:
            if (
                not facts.may_change
                and facts.why_not in plan.notes
                and sum(not setting.control for setting in plan.settings) == 1
            ):
                raise MissingError(
                    f"study {plan.study} compares schedulers, and without root only the one in force can be measured",
                    hint=f"{invocation.with_sudo()}, or simulate it: `--backend simulated --target MODEL`",
                )
            target = find(facts.target)
            prepared_target.check_free(target)
            if target.is_device:
                if any(combination.load.program == tiotest.NAME for combination in plan.combinations):
                    raise UsageError(
                        f"{facts.target}: tiotest needs a folder", hint="mount a file system and name a folder"
                    )
                prepared_target.check_claim(target, self.options.destroy)
            else:
                prepared_target.check_named(target.path, self.options.destroy)
                threads, size = session.needs(
                    [combination for combination in plan.combinations if combination.system == facts.name]
                )
                prepared_target.check_room(target, threads * size)

    def session(self, plan: Plan, run_id: str, say: Say) -> AbstractContextManager[session.KernelSession]:
        """Resolves the targets anew, since devices may have changed since `describe`; prepares them and restores
        everything at the end."""
        targets = {facts.name: find(facts.target) for facts in plan.systems}
        return session.opened(plan, run_id, fio.find(), targets, self.options.destroy, say)


def _speed(target: Target) -> str:
    """Kind of drive, for estimates. A virtual drive calls itself rotational whatever it is."""
    if any(device.kind in ("virtio", "loop", "nbd", "xen") for device in target.leaves):
        return "unknown"
    return "rotational" if any(device.rotational for device in target.leaves) else "flash"


def _check_can_build(study: Study) -> None:
    for name in study.factor_names():
        row = factor(name)
        if row is not None and row.expensive:
            raise UsageError(
                f"study {study.name} varies `{name}`, which the kernel backend does not build",
                hint="use `--backend simulated`, or one study per array that you have made",
            )


def check_caches(study: Study) -> None:
    """A buffered load must be limited in memory, or it measures memory."""
    for workload in map(resolve, study.workload):
        if workload.direct or workload.job is not None:
            continue
        if not workload.memory_limit:
            raise UsageError(
                f"study {study.name} has a buffered load without `memory_limit`, which would measure the page cache",
                hint='set `memory_limit = "256m"` and a `size` of several times that, or `direct = true`',
            )
        if os.geteuid() != 0:
            raise MissingError(
                f"study {study.name} has a buffered load, and limiting its memory needs root",
                hint=f"{invocation.with_sudo()}, or `direct = true`",
            )


def _wanted(study: Study) -> list[dict[str, Value]]:
    """Every value that a study may set, one at a time, but for a scheduler's tunables, which need their scheduler."""
    if study.candidate:
        return list(study.candidate)
    return [
        {name: value}
        for name, values in study.settings.items()
        if not name.startswith("iosched.")
        for value in values
        if value != "offered"
    ]
