"""One run that is not what a run is: an error about that run, and nothing about the others."""

from __future__ import annotations

import copy
import json
import random
import sqlite3

import pytest
from click.testing import CliRunner
from tests import simulated_study

from seekwise.cli.main import cli
from seekwise.errors import SeekwiseError
from seekwise.store.database import Store

WRONG = [None, True, -1, 1.5, 1e308, 2**70, "", "x" * 300, [], {}, [[]], {"a": {}}, [None], "nan"]


def called(*words) -> str:
    """What a command printed; SeekwiseError and usage errors are answers, all else is a fault."""
    done = CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False, obj={})
    if done.exception is not None and not isinstance(done.exception, SeekwiseError | SystemExit):
        raise AssertionError(f"{words}: {type(done.exception).__name__}: {done.exception}") from done.exception
    return done.output + str(done.exception or "")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """A database with a run of a study and a run of `tune`, both simulated."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "study.toml").write_text(simulated_study.text(name="plain", ios=50, repetitions=3))
    db = folder / "good.db"
    called("run", folder / "study.toml", "--db", db)
    called("tune", "model:wd2500ys", "--for", "random-read-1", "--db", db)
    with Store.open(db, create=False) as store:
        assert len(store.runs()) == 2
    return db


def places(document, path=()):
    """Every place in a JSON document."""
    yield path
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in items:
        yield from places(value, (*path, key))


def changed(document, path, value):
    if not path:
        return value
    document = copy.deepcopy(document)
    at = document
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return document


def spoilt(good, target, chance: random.Random) -> tuple[str, str]:
    """A copy of the database with one wrong value: (run, which value, in words)."""
    target.write_bytes(good.read_bytes())
    with sqlite3.connect(target) as connection:
        run_id = chance.choice([each for (each,) in connection.execute("SELECT run_id FROM run ORDER BY rowid")])
        if chance.random() < 0.5:
            (text,) = connection.execute("SELECT plan FROM run WHERE run_id = ?", (run_id,)).fetchone()
            document = json.loads(text)
            path, value = chance.choice(list(places(document))), chance.choice(WRONG)
            connection.execute(
                "UPDATE run SET plan = ? WHERE run_id = ?", (json.dumps(changed(document, path, value)), run_id)
            )
            return run_id, f"plan of {run_id}: {path} = {value!r:.40}"
        rows = connection.execute("SELECT trial, attempt, record FROM trial WHERE run_id = ?", (run_id,)).fetchall()
        trial, attempt, text = chance.choice(rows)
        document = json.loads(text)
        path, value = chance.choice(list(places(document))), chance.choice(WRONG)
        connection.execute(
            "UPDATE trial SET record = ? WHERE run_id = ? AND trial = ? AND attempt = ?",
            (json.dumps(changed(document, path, value)), run_id, trial, attempt),
        )
        return run_id, f"record {trial} of {run_id}: {path} = {value!r:.40}"


def of_a_run(run: str, other: str, folder) -> list[tuple]:
    """Each command that reads one run, or two."""
    return [
        ("results", run), ("results", run, "--json"), ("advise", run), ("apply", run, "--dry-run"), ("compare", run, other),
        ("export", run), ("export", run, "--format", "csv"), ("report", run, "--output", folder), ("report", run, other, "--output", folder),
    ]  # fmt: skip


@pytest.mark.parametrize("count", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_a_value_of_another_type_is_no_fault(good, tmp_path, count):
    chance = random.Random(35)
    target = tmp_path / "bad.db"
    for _ in range(count):
        run, what = spoilt(good, target, chance)
        try:
            with Store.open(target, create=False) as store:
                other = next((each.run_id for each in store.runs() if each.run_id != run), run)
            called("results", "--db", target)
            for words in of_a_run(run, other, tmp_path):
                called(*words, "--db", target)
        except AssertionError as error:
            raise AssertionError(f"{what}: {error}") from error


def test_a_run_whose_title_is_too_long_spoils_no_other(good, tmp_path):
    spoilt_db = tmp_path / "bad.db"
    spoilt_db.write_bytes(good.read_bytes())
    with sqlite3.connect(spoilt_db) as connection:
        for run_id, text in connection.execute("SELECT run_id, plan FROM run").fetchall():
            document = json.loads(text)
            if "uses" in document:
                document["uses"][0]["title"] = "t" * 500
                connection.execute("UPDATE run SET plan = ? WHERE run_id = ?", (json.dumps(document), run_id))
                live = run_id
    with Store.open(spoilt_db, create=False) as store:
        names = [run.run_id for run in store.runs()]
    assert f"run {live} cannot be read" in called("results", live, "--db", spoilt_db)
    listed = called("results", "--db", spoilt_db)
    assert all(name in listed for name in names)
