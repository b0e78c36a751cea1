"""Pages of `explain` fit the terminal, tables and examples included; purposes are explained where they are asked for."""

from __future__ import annotations

import tomllib

import pytest

from report.sample_live import live_outcome
from seekwise.cli import _output
from seekwise.cli import explain as command
from seekwise.report import of_run
from seekwise.report.explain import explain, words
from seekwise.workload import purpose


def page(word, width, capsys):
    command.show(_output.console(width=width), explain(word))
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [60, 80, 100])
def test_every_page_fits_the_width(width, capsys):
    for word in [*words(), "cfq", "desktop"]:
        for line in page(word, width, capsys).splitlines():
            # A word that is longer than the terminal cannot be broken: a path, an address.
            assert len(line) <= width or not line.strip().count(" "), (word, line)


def test_an_example_that_is_broken_is_still_an_example(capsys):
    text = page("use", 60, capsys)
    code = [line[4:] for line in text.splitlines() if line.startswith("    ")]
    table = tomllib.loads("\n".join(code[: code.index('judge = ["done"]') + 1]))
    assert table["unit"] == "transaction" and [job["name"] for job in table["job"]] == ["transactions", "copy"]


def test_a_last_cell_goes_on_below_its_beginning():
    assert command.broken("name   one two three four", 16) == ["name   one two", "       three", "       four"]


def test_a_models_values_are_whole_at_any_width(capsys):
    model = explain("wd2500ys")
    lines = page("wd2500ys", 60, capsys)
    for row in model.parameters:
        assert row.name in lines and row.confidence in lines and "…" not in lines


@pytest.mark.parametrize("name", purpose.PURPOSES)
def test_a_purpose_is_explained(name):
    found = explain(name)
    assert all(f"{each}: {meaning}" in found.text for each, meaning in purpose.PURPOSES.items())


def test_advise_names_the_purposes_that_were_measured(capsys):
    found = live_outcome(3)
    assert found.decided.by_purpose
    of_run.Report(found).advised().show(_output.console(width=80))
    said = " ".join(capsys.readouterr().out.split())
    for name in purpose.PURPOSES:
        assert (f"`--for {name}` ({purpose.PURPOSES[name]})" in said) == (name in found.decided.by_purpose)
    of_run.Report(found).advised(next(iter(found.decided.by_purpose))).show(_output.console(width=80))
    assert "For one purpose" not in capsys.readouterr().out
