"""One true answer wherever one asks: for every kind of run, terminal, `results`, advice, page and JSON say the same of the same."""

from __future__ import annotations

import html
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from report.sample_live import live_outcome
from seekwise.advise import asked
from seekwise.cli.main import cli
from seekwise.errors import UsageError
from seekwise.report import answer
from seekwise.store.database import Store
from seekwise.study.plan import Plan, Touch
from seekwise.trace.columns import Notes

sys.path.insert(0, str(Path(__file__).parents[1] / "trace"))
import closed_loops as loops

SMALL = ("--budget", "20s", "--seed", "3")
FOREIGN = Path(__file__).parents[1] / "store/foreign"
STUDIES = {
    "schedulers": ("run", "schedulers", "--backend", "simulated", "--target", "samsung_850_evo", *SMALL),
    "queue-depth": ("run", "queue-depth", "--backend", "simulated", "--target", "wd2500ys", *SMALL),
    "raid-levels": ("run", "raid-levels", *SMALL),
    "demo": ("demo", "--seed", "3"),
    "queue depth of an SSD": ("run", "queue-depth", "--backend", "simulated", "--target", "850 evo", *SMALL),
    "one setting": ("run", "read-ahead", "--backend", "simulated", "--target", "exos_x18", *SMALL),
    "chunks": ("run", "published/ssd-raid10-chunk", "--backend", "simulated", *SMALL),
    "article": ("run", "published/article-2008", "--backend", "simulated", "--seed", "3", "--budget", "12s"),
    "imports": ("import", *(str(FOREIGN / f"fio-{name}.{n}.json") for name in ("none", "bfq") for n in (1, 2))),
}
LONG = ("chunks", "article")
LIVE = {
    "model of an NVMe drive": ("tune", "model:samsung_980_pro_1tb", "--seed", "1"),
    "model of a SATA SSD": ("tune", "model:crucial_mx500_1tb", "--seed", "1"),
    "model of a disk": ("tune", "model:generic_1tb_sata", "--seed", "1"),
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


@pytest.fixture
def db(tmp_path, monkeypatch) -> str:
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
    """The answer up to the next step: 80 columns, 25 lines, nothing cut within them."""
    lines = [line for line in text.splitlines() if not line.startswith(("next:", "note:", "run ", "/"))]
    assert max(map(len, lines)) <= 80, [line for line in lines if len(line) > 80]
    assert len(lines) <= answer.LINES_MOST + 1, text


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
    markdown = plain(call(db, "report", run, "--markdown"))
    page, advised = page_of(db, run), call(db, "advise", run)
    advice = json.loads(call(db, "advise", run, "--json"))
    outputs = [shown, advised, page, markdown, *([typed] if typed is not None else [])]
    for each in outputs:
        assert headline in plain(each)
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
    assert len(lines) <= answer.LINES_MOST + 1 and max(map(len, lines)) <= 80
    return document


@pytest.mark.parametrize("kind", LIVE)
def test_a_simulated_run_of_tune_is_answered_alike_everywhere(kind, db):
    typed = call(db, *LIVE[kind])
    document = check_live(db, "last", typed)
    refused(db, "last")
    if kind.startswith("limits"):
        assert not document["decision"]["changes"] and document["headline"].startswith("These are limits")


def stored(db: str) -> str:
    """A measured run in a database, of which a use did not fit the budget."""
    found = live_outcome(3)
    plan = replace(found.plan, left_out=("backup",))
    with Store.open(Path(db)) as store:
        store.add_run(replace(found.run, plan=plan.to_document(), outcome=None, ended_at=None))
        for record in found.records:
            store.add(record)
        store.end_run(found.run.run_id, "complete")
    return found.run.run_id


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


@pytest.mark.parametrize(
    "kind", [pytest.param(each, marks=[pytest.mark.slow] if each in LONG else []) for each in STUDIES]
)
def test_a_study_is_answered_alike_everywhere(kind, db):
    typed = call(db, *STUDIES[kind])
    document = json.loads(call(db, "results", "last", "--json"))
    headline = plain(document["advice"]["headline"])
    shown = call(db, "results", "last")
    page = page_of(db, "last")
    for each in (typed, shown, call(db, "results", "last", "--all"), page, call(db, "report", "last", "--markdown")):
        assert headline.removesuffix(".") in plain(each)
    assert rows_of(typed) == rows_of(shown)
    refused(db, "last")
    if not document["printed"]:  # tables in the form of a publication are as long as they are there
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


def measured_study(db: str) -> str:
    """A study under the backend `kernel`: records of the simulator, as this machine's drive would have given them."""
    made = json.loads(call(db, "run", "schedulers", "--backend", "simulated", "--target", "wd2500ys", "--json", *SMALL))
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
            store.add(replace(record, run_id=own.run_id, badge="measured"))
        store.end_run(own.run_id, "complete")
    return own.run_id


def test_a_study_measured_on_this_machine_is_advised_and_applied_as_it_is_answered(db):
    run = measured_study(db)
    document = json.loads(call(db, "results", run, "--json"))
    setting, headline = document["decision"]["setting"], plain(document["advice"]["headline"])
    shown, advised = call(db, "results", run), call(db, "advise", run)
    assert rows_of(shown) == rows_of(advised) != []
    assert headline in plain(shown) and headline in plain(advised)
    fits(shown.partition("\n\n")[2])
    wanted = asked.recommended(run, None, Path(db))
    assert headline.rstrip(".") in wanted.reason
    assert document["decision"]["changes"] and wanted.wanted == {"vda": {"queue/scheduler": setting}}
    assert any(f"{setting} " in line for line in document["advice"]["set_lines"])
    for use in ("database", "file-server"):
        told = json.loads(call(db, "advise", run, "--for", use, "--json"))
        applied = asked.recommended(run, use, Path(db))
        assert told["headline"].rstrip(".") in applied.reason
        assert bool(applied.wanted) == told["headline"].startswith("Set ")
        assert all(values["queue/scheduler"] in told["headline"] for values in applied.wanted.values())


def test_what_tune_recommends_is_what_apply_sets(db):
    run = stored(db)
    document = json.loads(call(db, "results", run, "--json"))
    for purpose in (None, *(name for name in document["by_group"] if document["by_group"][name]), "throughput"):
        words = ("--for", purpose) if purpose else ()
        told = json.loads(call(db, "advise", run, *words, "--json"))
        applied = asked.recommended(run, purpose, Path(db))
        assert told["headline"].rstrip(".") in applied.reason
        wanted = {"vda": {"queue/scheduler": told["decision"]["setting"]}} if told["decision"]["changes"] else {}
        assert applied.wanted == wanted
        assert bool(told["set"]) == told["decision"]["changes"]
        assert all(told["decision"]["setting"] in line for line in told["set"])


def all_open(db: str) -> str:
    """A run of which nothing is decided: two rounds."""
    found = live_outcome(2, rounds=3, noise=0.5)
    with Store.open(Path(db)) as store:
        store.add_run(replace(found.run, outcome=None, ended_at=None))
        for record in found.records:
            store.add(record)
        store.end_run(found.run.run_id, "complete")
    return found.run.run_id


def test_what_all_is_open_is_inconclusive_everywhere(db):
    document = check_live(db, all_open(db))
    assert document["headline"].startswith("Inconclusive") and not document["decision"]["changes"]
    assert not re.match(r"(Keep|Set|Nothing to gain)", document["headline"])


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
            "20s",
            "--seed",
            seed,
        )
        runs.append(json.loads(call(db, *words, "--json"))["run_id"])
    compared(db, tuple(runs))


def compared(db: str, names: tuple[str, ...]) -> None:
    shown = call(db, "compare", *names)
    headline = json.loads(call(db, "compare", *names, "--json"))["headline"]
    page = plain(Path(call(db, "report", *names).strip()).read_text(encoding="utf-8"))
    markdown = plain(call(db, "report", *names, "--markdown"))
    for each in (shown, page, markdown):
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
        for each in (call(db, "results", "last"), page_of(db, "last"), call(db, "report", "last", "--markdown")):
            assert headline in plain(each)
