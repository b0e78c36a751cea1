"""These tests will advise each of two unlike drives by its own trials, and print it within 80 columns."""

from __future__ import annotations

from dataclasses import replace

from seekwise.judge import for_use, workloads
from seekwise.judge.study_outcome import wanted
from seekwise.report import of_run, use_answer
from seekwise.store.database import Store
from seekwise.workload.study import parse, planning
from seekwise.workload.study.plan import SystemFacts

from .made import STUDY, made_records, made_run
from .test_apply import seekwise

TWO = STUDY.replace(
    '[[system]]\nname = "disk"\ntarget = "/srv"\n',
    '[[system]]\nname = "sata"\ntarget = "/a"\n[[system]]\nname = "nvme"\ntarget = "/b"\n',
)


def two_systems(folder):
    """On `sata` kyber is a third faster than mq-deadline, which is set; on `nvme` none is set and kyber is slower."""
    systems = tuple(
        SystemFacts(
            name=name,
            target=target,
            leaves=(device,),
            offered=("none", "mq-deadline", "kyber"),
            current={device: {"queue/scheduler": now, "queue/nr_requests": "64"}},
            scheduler=now,
        )
        for name, target, device, now in (("sata", "/a", "sda", "mq-deadline"), ("nvme", "/b", "nvme0n1", "none"))
    )
    study = parse.loads(TWO, "study.toml")
    made = replace(planning.make(study, systems), backend="kernel")
    records = []
    operations = ("seq_read", "seq_write", "rand_read", "rand_write")
    fast = {("kyber", operation, threads): 1.33 for operation in operations for threads in (1, 8)}
    slow = {
        (name, operation, threads): 0.8
        for name in ("kyber", "mq-deadline")
        for operation in operations
        for threads in (1, 8)
    }
    for name, throughputs in (("sata", fast), ("nvme", slow)):
        for record in made_records(throughputs):
            combination = record.combination.replace("system=disk", f"system={name}")
            factors = {**record.factors, "system": name}
            records.append(replace(record, trial=len(records), combination=combination, factors=factors))
    run = replace(made_run(made), study=TWO)
    path = folder / "records.db"
    with Store.open(path) as store:
        store.add_run(run)
        for record in records:
            store.add(record)
        return path, of_run.of_runs(store, run)


def test_each_drive_gets_the_answer_of_its_own_trials(tmp_path):
    _, found = two_systems(tmp_path)
    sata, nvme = for_use.per_system(found.outcome, None)
    assert (sata.setting.label, nvme.setting) == ("kyber", None)
    assert wanted(sata.setting, sata.outcome.plan) == {"sda": {"queue/scheduler": "kyber"}}
    assert use_answer.of_system(nvme, found.content).headline.startswith("Keep none")
    for_work = for_use.per_system(found.outcome, workloads.find("database"))
    assert [each.setting and each.setting.label for each in for_work] == ["kyber", None]


def test_the_command_prints_both_within_80_columns(tmp_path):
    path, _ = two_systems(tmp_path)
    shown = seekwise("advise", "r1", "--for", "database", "--db", str(path), state=tmp_path)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert "sata (sda)" in lines and "nvme (nvme0n1)" in lines
    assert all(len(line) <= 80 for line in lines if "/sys/block" not in line and "next:" not in line), max(
        lines, key=len
    )
    assert "next: seekwise apply r1 --for database" in shown.stdout
    one = seekwise("advise", "r1", "--system", "nvme", "--db", str(path), state=tmp_path)
    assert "Keep none" in one.stdout and "sata" not in one.stdout
    assert "next:" not in one.stdout, "apply would set nothing"
    unknown = seekwise("advise", "r1", "--system", "tape", "--db", str(path), state=tmp_path)
    assert unknown.returncode == 2 and "systems of this run: sata, nvme" in unknown.stderr


def to_apply(path, *asked):
    with Store.open(path) as store:
        return of_run.of_runs(store, store.run("r1")).advised(*asked).asked.changes()


def test_apply_sets_what_advise_said_for_each_drive_or_for_one(tmp_path):
    path, _ = two_systems(tmp_path)
    assert to_apply(path) == {"sda": {"queue/scheduler": "kyber"}}
    assert to_apply(path, "database", "nvme") == {}


def test_arrays_built_one_after_the_other_on_the_same_drives_are_alternatives(tmp_path):
    _, found = two_systems(tmp_path)
    same = tuple(replace(facts, leaves=("sda", "sdb")) for facts in found.outcome.plan.systems)
    again = replace(found.outcome, plan=replace(found.outcome.plan, systems=same))
    simulated = replace(found.outcome, plan=replace(found.outcome.plan, backend="simulated"))
    assert for_use.per_drive(again, None) == ()
    assert for_use.per_drive(simulated, None) == ()
