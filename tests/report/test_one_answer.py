"""One true answer wherever one asks: for every kind of run, terminal, `results`, advice, page and JSON say the same of the same."""

from __future__ import annotations

import html
import json
import random
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from click.testing import CliRunner
from tests.installed import needs_papers

from report.sample_live import live_outcome
from seekwise.cli.main import cli
from seekwise.errors import UsageError
from seekwise.linux import page_cache
from seekwise.measure.live import open_run, own, passive, simulated, stretch
from seekwise.measure.live.open_run import RunListener
from seekwise.report import answered, of_run, outcome, tune_answer
from seekwise.settings import asked, history
from seekwise.simulate import use_trials
from seekwise.store.database import Run, Store
from seekwise.store.record import Record
from seekwise.trace.columns import Notes
from seekwise.workload.live_plan import LivePlan
from seekwise.workload.study import uses
from seekwise.workload.study.plan import Plan, Touch
from seekwise.workload.study.uses import Use

sys.path.insert(0, str(Path(__file__).parents[1] / "trace"))
import closed_loops as loops

SMALL = ("--budget", "5s", "--seed", "3")
FOREIGN = Path(__file__).parents[1] / "importing/files"
STUDIES = {
    "schedulers": ("run", "schedulers", "--backend", "simulated", "--target", "samsung_850_evo", *SMALL),
    "queue-depth": ("run", "queue-depth", "--backend", "simulated", "--target", "wd2500ys", *SMALL),
    "raid-levels": ("run", "raid-levels", *SMALL),
    "demo": ("run", "demo", "--seed", "3"),
    "queue depth of an SSD": ("run", "queue-depth", "--backend", "simulated", "--target", "850 evo", *SMALL),
    "read-ahead": ("run", "read-ahead", "--backend", "simulated", "--target", "exos_x18", *SMALL),
    "one setting": ("run", "request-size", "--backend", "simulated", "--target", "850 evo", *SMALL),
    "chunks": ("run", "published/ssd-raid10-chunk", "--backend", "simulated", *SMALL),
    "article": ("run", "published/article-2008", "--backend", "simulated", "--seed", "3", "--budget", "12s"),
    "imports": ("import", *(str(FOREIGN / f"fio-{name}.{n}.json") for name in ("none", "bfq") for n in (1, 2))),
}
LONG = ("chunks", "article", "demo", "queue depth of an SSD", "model of an NVMe drive")
OF_PAPERS = ("chunks", "article")
USES_MOST = 3
"""Of those that a run without --for simulates."""
LIVE = {
    "model of an NVMe drive": ("tune", "model:samsung_980_pro_1tb", "--seed", "1"),
    "model of a SATA SSD": ("tune", "model:crucial_mx500_1tb", "--for", "file-server", "--seed", "1"),
    "model of a disk": ("tune", "model:generic_1tb_sata", "--for", "virtual-machines", "--seed", "1"),
    "model with --vary": (
        "tune",
        "model:generic_1tb_sata",
        "--vary",
        "nr_requests=8,256",
        "--for",
        "random-read,random-read-1",
        "--seed",
        "1",
    ),
    "limits of a disk": ("tune", "model:generic_1tb_sata", "--for", "reads-beside-writer,random-read-1", "--seed", "1"),
}


def long_ones_are_slow(kinds):
    def marks(kind):
        return [*([pytest.mark.slow] if kind in LONG else ()), *([needs_papers] if kind in OF_PAPERS else ())]

    return [pytest.param(kind, marks=marks(kind)) for kind in kinds]


@pytest.fixture
def db(tmp_path, monkeypatch) -> str:
    """A new database. Simulated uses are short: how sure an answer is does not matter here."""
    every = uses.chosen
    monkeypatch.setattr(uses, "chosen", lambda named: every(named)[:USES_MOST] if named is None else every(named))
    monkeypatch.setattr(simulated, "ROUNDS", 4)
    monkeypatch.setattr(simulated, "ROUNDS_MOST", 8)
    monkeypatch.setattr(use_trials, "SECONDS", {True: (0.5, 2.0), False: (0.1, 0.2)})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return str(tmp_path / "records.db")


def call(db: str, *words: str) -> str:
    result = CliRunner().invoke(cli, [*words, "--db", db], catch_exceptions=False, standalone_mode=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(db: str, run: str) -> None:
    """What did not measure this machine is no reason to set anything on it, and says so instead of advice."""
    with pytest.raises(UsageError, match="did not measure this machine"):
        call(db, "apply", run, "--dry-run")


def fits(text: str) -> None:
    """The answer up to the next step: 80 columns, 24 lines, nothing cut within them. How far a run is, which a terminal
    writes over, is none of it."""
    lines = [line for line in text.splitlines() if not line.startswith(("next:", "note:", "run ", "repetition ", "/"))]
    assert max(map(len, lines)) <= 80, [line for line in lines if len(line) > 80]
    assert len(lines) <= 24, text


def plain(text: str) -> str:
    """Words alone: no line breaks, no Markdown, no markup."""
    text = re.sub(r"<(style|script)\b.*?</\1>", " ", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).replace("\\", "").split())


def page_of(db: str, run: str) -> str:
    return plain(Path(call(db, "report", run).splitlines()[-1]).read_text(encoding="utf-8"))


def rows_of(text: str) -> list[list[str]]:
    """Cells of the table of the answer, its head first; rows that are wrapped are left out."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith("Use ")), None)
    if start is None:
        return []
    found = []
    for line in lines[start:]:
        if not line.strip():
            break
        cells = re.split(r"\s{2,}", line.strip())
        if len(cells) >= 4:
            found.append(cells)
    return found


def values_of(text: str) -> set[str]:
    """Numbers with a unit in the answer's table."""
    return {
        each for row in rows_of(text) for cell in row for each in re.findall(r"[\d.,]+ (?:MB/s|ms|µs|s)(?!\w)", cell)
    }


def check_live(db: str, run: str, typed: str | None = None) -> dict:
    """Everything that is said of a live-switched run is one answer."""
    document = json.loads(call(db, "results", run, "--json"))
    headline, setting = document["headline"], document["decision"]["setting"]
    shown = call(db, "results", run)
    page, advised = page_of(db, run), call(db, "advise", run)
    advice = json.loads(call(db, "advise", run, "--json"))
    outputs = [shown, advised, page, *([typed] if typed is not None else [])]
    parts = [text for one in document["answers"] for text in (one["what"], *(effect for _, effect in one["effects"]))]
    for each in outputs:
        assert all(text in plain(each) for text in parts)
    assert all(text in headline or f"{text[:1].upper()}{text[1:]}" in headline for text in parts)
    assert (advice["headline"], advice["decision"]) == (headline, document["decision"])
    assert setting in headline
    tables = [rows_of(each) for each in (shown, advised, *([typed] if typed is not None else []))]
    assert tables[0] and all(each == tables[0] for each in tables)
    assert all(value in page for value in values_of(shown))
    measured = {each["use"] for each in document["uses"]}
    assert not [name for name in document["left_out"] if name in headline and name not in measured]
    for each in document["purposes"]:
        assert each["setting"] in document["candidates"]
        assert each["changes"] == (each["setting"] != document["in_force"])
    lines = [line for line in (typed or shown.split("\n\n", 1)[1]).splitlines() if not line.startswith("next:")]
    assert len(lines) <= tune_answer.LINES_MOST + 1 and max(map(len, lines)) <= 80
    return document


@pytest.mark.parametrize("kind", long_ones_are_slow(LIVE))
def test_a_simulated_run_of_tune_is_answered_alike_everywhere(kind, db):
    typed = call(db, *LIVE[kind])
    document = check_live(db, "last", typed)
    refused(db, "last")
    if kind.startswith("limits"):
        assert not document["decision"]["changes"] and document["headline"].startswith("These are limits")


def kept(db: str, run: Run, plan: LivePlan, records: list[Record]) -> str:
    """A finished run in the database; its id."""
    with Store.open(Path(db)) as store:
        store.add_run(replace(run, plan=plan.to_document(), outcome=None, ended_at=None))
        for record in records:
            store.add(record)
        store.end_run(run.run_id, "complete")
    return run.run_id


def stored(db: str) -> str:
    """A measured run, of which a use did not fit the budget."""
    found = live_outcome(3)
    return kept(db, found.run, replace(found.plan, left_out=("backup",)), found.records)


def under(use: Use, **more) -> tuple[Run, LivePlan]:
    """A run whose load is not ours, planned as `tune` plans it."""
    found = live_outcome(3)
    return found.run, replace(found.plan, uses=(use,), left_out=(), notes=(), extra={"live": True}, **more)


@pytest.mark.parametrize("metric", [None, "reached (\\d+)"])
def test_a_command_of_the_users_is_answered_alike_everywhere(metric, db, tmp_path, monkeypatch):
    """As `own.measure` runs it; the command's time and output are ours, so that a busy machine decides nothing."""
    now, noise, clock_s = {}, random.Random(3), [0.0]
    monkeypatch.setattr(page_cache, "write_back", lambda _: None)
    monkeypatch.setattr(stretch, "switch_to", lambda _, candidate: now.update(label=candidate.label) or 0.0)

    def timed(*_: object) -> tuple[int, float, str]:
        clock_s[0] += 0.05
        took = (0.1 if now["label"] == "bfq" else 0.02) * noise.uniform(1.0, 1.05)
        return 0, took, f"reached {2 / took:.0f}"

    monkeypatch.setattr(own, "_timed", timed)
    clock = SimpleNamespace(monotonic=lambda: clock_s[0], time=lambda: clock_s[0])
    monkeypatch.setattr(own, "time", clock)
    monkeypatch.setattr(open_run, "time", clock)
    command = own.Command(("make", "check"), metric)
    run, plan = under(command.use(), target=str(tmp_path))
    plan = replace(plan, candidates=tuple(each for each in plan.candidates if each.label in ("bfq", "mq-deadline")))
    plan = replace(plan, candidates=tuple(replace(each, in_force=each.label == "bfq") for each in plan.candidates))
    runs = own.CommandRuns(
        store=Mock(), run=run, plan=plan, switch=object(), deadline_s=3.0, watch=RunListener(),
        storage=Mock(), command=command,
    )  # fmt: skip
    own.measure(runs)
    document = check_live(db, kept(db, run, plan, runs.records))
    assert document["decision"] == document["decision"] | {"setting": "mq-deadline", "changes": True}
    assert {each["use"] for each in document["uses"]} == {"command"}


def test_a_load_that_was_there_is_answered_alike_everywhere(db):
    """`tune --live`: one load that is judged by the kernel's counters."""
    found = live_outcome(1)
    use = passive.load_use(percentiles=True)
    run, plan = under(use)
    records = [
        replace(
            each, factors={**each.factors, "use": use.name}, combination=f"use={use.name}", conditions={**each.conditions, "device": {}},
            phases=tuple(replace(phase, details={**phase.details, "job": use.job[0].name}) for phase in each.phases[:1]),
        )
        for each in found.records
    ]  # fmt: skip
    document = check_live(db, kept(db, run, plan, records))
    assert {each["use"] for each in document["uses"]} == {"live"} and document["decision"]


def test_a_load_that_was_none_has_no_budget_that_would_tell_more(db):
    found = live_outcome(1, rounds=3, noise=0.5)
    use = passive.load_use(percentiles=True)
    records = [
        replace(each, factors={**each.factors, "use": use.name}, phases=(replace(each.phases[0], ios=1),))
        for each in found.records
    ]
    idle = replace(found, plan=replace(found.plan, uses=(use,)), records=records)
    assert tune_answer.open_text(found) and tune_answer.open_text(idle) is None
    assert answered.together(tune_answer.answers(idle)).startswith("There was no load")


def test_a_run_on_a_virtual_drive_is_answered_alike_everywhere(db):
    """Measured in a guest, so nothing of it is set here."""
    found = live_outcome(3)
    plan = replace(found.plan, provenance="virtual", left_out=())
    records = [replace(each, provenance="virtual") for each in found.records]
    run = kept(db, replace(found.run, backend="lab"), plan, records)
    document = check_live(db, run)
    assert document["set"] == document["undo"] == []
    assert "The real kernel on a virtual drive, not this machine's" in call(db, "results", run)
    refused(db, run)


def test_an_array_to_build_is_named_alike_in_words_and_in_json(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_DB", str(tmp_path / "records.db"))
    words = ("design", "generic_1tb_sata", "--for", "random-read-1", "--drives", "4")
    texts = [CliRunner().invoke(cli, [*words, *more], catch_exceptions=False).stdout for more in ((), ("--json",))]
    document = json.loads(texts[1])
    headline = plain(texts[0].split("\n\n")[0])
    assert document["headline"] == headline
    # No scheduler: the model cannot tell them apart here.
    assert headline.startswith(f"Build {document['recommended']['name']}: ")
    assert document["command"] in texts[0]
    fits(texts[0])


def test_a_measured_run_of_tune_is_answered_alike_everywhere(db):
    run = stored(db)
    document = check_live(db, run)
    asked = [name for name in document["by_group"] if document["by_group"][name]]
    assert asked
    for group in asked:
        own = json.loads(call(db, "advise", run, "--for", group, "--json"))
        assert own["decision"] == document["by_group"][group]
        assert own["headline"] in plain(call(db, "advise", run, "--for", group))
        uses = {each["use"] for each in document["uses"] if each["group"] != group}
        assert not [use for use in uses if f" in {use}" in own["headline"]], "only what was asked for"
    for purpose in document["purposes"]:
        own = json.loads(call(db, "advise", run, "--for", purpose["purpose"], "--json"))
        assert own["decision"]["setting"] == purpose["setting"]


@pytest.mark.parametrize("kind", long_ones_are_slow(STUDIES))
def test_a_study_is_answered_alike_everywhere(kind, db):
    typed = call(db, *STUDIES[kind])
    document = json.loads(call(db, "results", "last", "--json"))
    headline = plain(document["advice"]["headline"])
    shown = call(db, "results", "last")
    page = page_of(db, "last")
    for each in (typed, shown, call(db, "results", "last", "--all"), page):
        assert headline.removesuffix(".") in plain(each)
    assert rows_of(typed) == rows_of(shown)
    refused(db, "last")
    counts = {each["factors"].get("threads") for each in document["records"]}
    is_mean = len(counts) > 1 and document["decision"] is not None
    assert all(("geometric means over " in plain(each)) == is_mean for each in (typed, shown, page))
    fits(typed)
    arrays = [[line for line in each.splitlines() if line.lstrip().startswith("RAID ")] for each in (typed, shown)]
    assert arrays[0] == arrays[1], "states of an array are told again"
    assert all(value in page for value in values_of(shown))
    if document["decision"] is not None:
        setting = document["decision"]["setting"]
        assert setting in headline and document["advice"]["recommended"] in ([setting], [])
        used = {each["use"] for each in document["uses"]}
        names = [row[0] for row in rows_of(shown)[1:] if len(row) == 5 and not row[0].startswith("…")]
        assert all(any(use.startswith(name) for use in used) for name in names), "a long name goes on in the next line"
        advised = json.loads(call(db, "advise", "last", "--json"))
        assert plain(advised["headline"]) == headline


def test_the_rule_is_told_with_the_thresholds_in_force(monkeypatch):
    assert (
        "differences below 3 % in throughput, 10 % in p99 latency and 5 % in access time and CPU efficiency"
        in outcome.rule_text()
    )
    monkeypatch.setattr(outcome, "THRESHOLD_SHARE", {**outcome.THRESHOLD_SHARE, "p99": 0.15})
    assert "15 % in p99 latency and 5 % in access time and CPU efficiency are no win" in outcome.rule_text()


def measured_study(db: str) -> str:
    """A study under the backend `kernel`: records of the simulator, as this machine's drive would have given them."""
    words = ("run", "schedulers", "--backend", "simulated", "--target", "wd2500ys", "--budget", "9s", "--seed", "3")
    made = json.loads(call(db, *words, "--json"))
    with Store.open(Path(db)) as store:
        run = store.run(made["run_id"])
        plan = Plan.from_document(run.plan)
        facts = replace(
            plan.systems[0], target="/srv", leaves=("vda",), stack=("/srv on vda",), current={"vda": {"queue/scheduler": plan.reference}}
        )  # fmt: skip
        values = tuple(setting.label for setting in plan.settings)
        touched = (Touch("vda", "queue/scheduler", plan.reference, values),)
        plan = replace(plan, backend="kernel", systems=(facts,), touched=touched)
        own = replace(
            run, run_id="20260102-0304-aaaa", backend="kernel", plan=plan.to_document(), outcome=None, ended_at=None
        )
        store.add_run(own)
        for record in list(store.records(run.run_id)):
            store.add(replace(record, run_id=own.run_id, provenance="measured"))
        store.end_run(own.run_id, "complete")
    return own.run_id


def to_apply(db: str, name: str, purpose: str | None = None) -> asked.Asked:
    with Store.open(Path(db)) as store:
        run = store.run(name)
        return asked.recommended(of_run.of_runs(store, run).advised(purpose), history.evidence_of(run, store))


@pytest.mark.slow
def test_a_study_measured_on_this_machine_is_advised_and_applied_as_it_is_answered(db):
    run = measured_study(db)
    document = json.loads(call(db, "results", run, "--json"))
    setting, headline = document["decision"]["setting"], plain(document["advice"]["headline"])
    shown, advised = call(db, "results", run), call(db, "advise", run)
    assert rows_of(shown) == rows_of(advised) != []
    assert headline in plain(shown) and headline in plain(advised)
    fits(shown.partition("\n\n")[2])
    wanted = to_apply(db, run)
    assert headline.rstrip(".") in wanted.reason
    assert document["decision"]["changes"] and wanted.wanted == {"vda": {"queue/scheduler": setting}}
    assert any(f"{setting} " in line for line in document["advice"]["set_lines"])
    for use in ("database", "file-server"):
        told = json.loads(call(db, "advise", run, "--for", use, "--json"))
        applied = to_apply(db, run, use)
        assert told["headline"].rstrip(".") in applied.reason
        assert bool(applied.wanted) == told["headline"].startswith("Set ")
        assert all(values["queue/scheduler"] in told["headline"] for values in applied.wanted.values())


def test_what_tune_recommends_is_what_apply_sets(db):
    run = stored(db)
    document = json.loads(call(db, "results", run, "--json"))
    for purpose in (None, *(name for name in document["by_group"] if document["by_group"][name]), "throughput"):
        words = ("--for", purpose) if purpose else ()
        told = json.loads(call(db, "advise", run, *words, "--json"))
        applied = to_apply(db, run, purpose)
        assert told["headline"].rstrip(".") in applied.reason
        wanted = {"vda": {"queue/scheduler": told["decision"]["setting"]}} if told["decision"]["changes"] else {}
        assert applied.wanted == wanted
        assert bool(told["set"]) == told["decision"]["changes"]
        assert all(told["decision"]["setting"] in line for line in told["set"])


def little_known(db: str) -> str:
    """A run of three rounds in wild noise."""
    found = live_outcome(2, rounds=3, noise=0.5)
    return kept(db, found.run, found.plan, found.records)


def test_what_was_not_measured_long_enough_keeps_what_is_in_force_everywhere(db):
    document = check_live(db, little_known(db))
    others = [each for use in document["uses"] for each in use["candidates"] if each["setting"] != document["in_force"]]
    assert "unknown" in {each["verdict"] for each in others} and not document["decision"]["changes"]
    assert document["headline"].startswith(f"Keep {document['in_force']}")


def test_a_comparison_is_told_alike_on_terminal_page_and_in_json(db):
    names = ("before", "after")
    with Store.open(Path(db)) as store:
        for name, slower, seed in (("before", 1.0, 3), ("after", 1.25, 9)):
            found = live_outcome(3, name=name, seed=seed, slower=slower)
            run = replace(found.run, run_id=f"{found.run.run_id}-{name}", name=name, outcome=None, ended_at=None)
            store.add_run(run)
            for record in found.records:
                store.add(replace(record, run_id=run.run_id))
            store.end_run(run.run_id, "complete")
    compared(db, names)


def test_two_runs_of_a_study_are_compared_alike_everywhere(db):
    runs = []
    for seed in ("3", "4"):
        words = (
            "run",
            "queue-depth",
            "--backend",
            "simulated",
            "--target",
            "wd2500ys",
            "--budget",
            "5s",
            "--seed",
            seed,
        )
        runs.append(json.loads(call(db, *words, "--json"))["run_id"])
    compared(db, tuple(runs))


def compared(db: str, names: tuple[str, ...]) -> None:
    shown = call(db, "compare", *names)
    headline = json.loads(call(db, "compare", *names, "--json"))["headline"]
    page = plain(Path(call(db, "report", *names).strip()).read_text(encoding="utf-8"))
    for each in (shown, page):
        assert headline in plain(each)
    fits(shown)
    values = re.findall(r"[\d.,]+ (?:MB/s|ms|µs|s|/s)(?!\w)", shown)
    assert values or "no difference" in headline, "values of both runs"


def test_a_prediction_is_answered_alike_everywhere(db, tmp_path):
    notes = Notes(source="seekwise record")
    readers = [loops.loop(notes, f"db/{number}", 150, think_ns=5e5, seed=number) for number in range(4)]
    trace = loops.write(tmp_path / "load.swt", notes, *readers, chunk=200)
    for vary in ("model=wd2500ys", "model=wd2500ys,samsung_980"):
        typed = call(db, "whatif", str(trace), "--vary", vary)
        headline = plain(typed.split("\n\n")[0])
        assert "p99" in headline
        document = json.loads(call(db, "results", "last", "--json"))
        assert document["advice"]["headline"] == headline
        refused(db, "last")
        assert headline in plain(call(db, "advise", "last"))
        for each in (call(db, "results", "last"), page_of(db, "last")):
            assert headline in plain(each)
