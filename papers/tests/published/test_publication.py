"""What a publication prints fits its study, and `seekwise published` shows a run in its tables and figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.words.test_docs import accepted, commands

from seekwise.cli.main import cli
from seekwise.workload.study import starters
from seekwise_papers import publication
from seekwise_papers.cli import command

NAMES = starters.names_of("published")


@pytest.mark.parametrize("name", NAMES)
def test_a_publication_names_systems_settings_and_loads_of_its_study(name):
    study, text = starters.open_study(name)[0], publication.of_study(name)
    assert text is not None
    systems, loads = {system.name for system in study.system}, {load.name for load in study.workload}
    for figure in text.figure:
        assert (figure.metric is None) != (figure.diagram is None) and set(figure.systems) <= systems
        assert bool(figure.systems) == (figure.metric is not None)
    for table in text.table:
        for block in table.block:
            words = {*(side.printed for side in block.sides), "=", publication.RESERVED}
            assert {side.system for side in block.sides} <= systems
            assert {word for row in block.text.values() for word in row} <= words
    for grid in text.grid:
        named = {*grid.systems, *(system for rows in grid.text.values() for system in rows)}
        assert named <= systems and {grid.load, grid.against_load} - {None} <= loads
    for rows in (text.figure, text.table, text.grid):
        numbers = [row.number for row in rows]
        assert len(set(numbers)) == len(numbers)


def test_a_study_that_repeats_nothing_has_no_publication():
    assert publication.of_study("schedulers") is None


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("published") / "records.db"
    words = ("--seed", "3", "--system", "NVME", "--budget", "6s", "--db", str(path))
    done = CliRunner().invoke(cli, ("run", "published/nvme-page", *words), standalone_mode=False, obj={})
    assert done.exception is None, done.output
    return path


def called(*words: str):
    return CliRunner().invoke(command, words, standalone_mode=False, obj={})


def test_a_run_is_shown_as_the_publication_has_it(db, tmp_path):
    page = tmp_path / "page.html"
    done = called("last", "--db", str(db), "--output", str(page), "--json")
    assert done.exception is None, done.output
    assert json.loads(done.stdout)["run_id"]
    text = page.read_text()
    assert "Figure 1: rate [MB/s]" in text and "No answer for SATA" in text


def test_a_run_of_another_study_is_refused(tmp_path):
    db = tmp_path / "records.db"
    words = ("run", "demo", "--backend", "simulated", "--budget", "5s", "--db", str(db))
    assert CliRunner().invoke(cli, words, standalone_mode=False, obj={}).exception is None
    refused = called("last", "--db", str(db)).exception
    assert refused is not None and "repeats no publication" in str(refused)


@pytest.mark.parametrize("page", sorted((Path(__file__).parents[2] / "docs").glob("*.md")), ids=lambda page: page.name)
def test_every_command_that_a_page_shows_is_accepted(page):
    for line in commands(page):
        name, *words = line.split()
        if name == "published":
            command.make_context(name, ["last" if word == "RUN" else word for word in words if word != "…"])
        else:
            assert accepted(line.replace("STUDY", "article-2008")) is None, line
