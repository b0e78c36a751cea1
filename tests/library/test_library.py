"""`import seekwise` gives what the command gives; the notebooks run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests import simulated_study

import seekwise
from seekwise import document
from seekwise.cli.main import cli
from seekwise.errors import UsageError
from seekwise.store import codec

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "docs" / "notebooks"
STUDY = simulated_study.text(schedulers=("none", "bfq"))


def without_clock(record: dict) -> dict:
    return {key: value for key, value in record.items() if key not in ("run_id", "started_at")}


def test_the_library_gives_what_the_command_gives(tmp_path) -> None:
    (tmp_path / "small.toml").write_text(STUDY)
    words = ["run", str(tmp_path / "small.toml"), "--seed", "3", "--db", str(tmp_path / "x.db"), "--json"]
    printed = json.loads(CliRunner().invoke(cli, words, standalone_mode=False, obj={}).stdout)
    run = seekwise.run(tmp_path / "small.toml", seed=3)
    found = seekwise.analyse(run)
    ours = [without_clock(json.loads(codec.encode(record))) for record in run.records]
    assert ours == [without_clock(record) for record in printed["records"]]
    assert json.loads(json.dumps([document.printed(each) for each in found.verdicts])) == printed["uses"]
    assert found.answer == printed["advice"]["headline"]
    assert list(found.findings) == [each["text"] for each in printed["findings"]]
    stored = seekwise.load(db=tmp_path / "x.db")
    assert seekwise.analyse(stored).answer == found.answer


def test_text_a_path_and_a_name_are_studies(tmp_path) -> None:
    (tmp_path / "small.toml").write_text(STUDY)
    assert seekwise.run(STUDY).rows() == seekwise.run(tmp_path / "small.toml").rows()
    assert seekwise.run(STUDY, drive="crucial_mx500_1tb").rows() != seekwise.run(STUDY).rows()


def test_charts_are_pictures_that_a_notebook_shows(tmp_path) -> None:
    found = seekwise.analyse(seekwise.run(STUDY))
    pictures = seekwise.plot(found)
    assert pictures and all(each._repr_svg_().startswith("<svg") for each in pictures)
    assert seekwise.plot(found, pictures[0].name) == [pictures[0]]
    assert pictures[0].save(tmp_path / "a.svg").read_text() == pictures[0].svg
    with pytest.raises(UsageError, match="no chart is called"):
        seekwise.plot(found, "nosuch")


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("nosuch-study", {}),
        ("name = 1\n", {}),
        (STUDY, {"seed": -1}),
        (STUDY, {"workers": 0}),
        (STUDY, {"on": "nowhere"}),
        (STUDY, {"drive": "nosuchdrive"}),
    ],
)
def test_wrong_arguments_are_usage_errors(words, options) -> None:
    with pytest.raises(UsageError):
        seekwise.run(words, **options)


def test_importing_seekwise_loads_nothing_else() -> None:
    code = "import sys, seekwise; assert 'numpy' not in sys.modules and 'pydantic' not in sys.modules; assert 'run' in dir(seekwise)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    with pytest.raises(AttributeError):
        _ = seekwise.nosuch


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    book = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    assert outputs and not any(output.output_type == "error" for output in outputs)


def test_there_are_three_notebooks_without_stored_output() -> None:
    books = [json.loads(path.read_text()) for path in NOTEBOOKS.glob("*.ipynb")]
    assert len(books) == 3
    assert not any(cell.get("outputs") for book in books for cell in book["cells"])


PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def python_blocks() -> list[tuple[str, str]]:
    """(page, text) of each block of Python on a page that calls Seekwise; those that start workers included."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    found = [(page.name, text) for page in pages for text in PYTHON_BLOCK.findall(page.read_text(encoding="utf-8"))]
    return [(page, text) for page, text in found if "import seekwise" in text]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "text"), python_blocks(), ids=lambda each: each[:20].strip())
def test_a_block_of_python_on_a_page_runs(page, text, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(text, page, "exec"), {"__name__": "__main__"})
