"""The blocks of the pages are used as they stand: commands run in the order of their page, in a folder with the files that it names, and what a page shows of
their output is what they print. `WHY_NOT` has the reason of each line that is not run."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.words.test_docs import BLOCK, PAGES, ROOT, place

from seekwise.workload.study.study import Study

TOOLS = ("make", "cargo", "pip", "pipx", "python", "modprobe", "mdadm", "dask", "echo")
WHY_NOT = {
    r"^sudo ": "measures or sets as root: tests/live, tests/settings, tests/packaging",
    r"^seekwise (tune (?!model:)|record|apply (?!.*--print)|revert)": "measures or sets: tests/live, tests/settings",
    r"^seekwise lab|LAB-RUN|verify vectors recorded": "boots guests of the VM testbed: proof/tests/testbed",
    r"^seekwise verify (claims|verdicts|vectors|ladder|rates|whatif|gains|judgement)": "minutes: proof/tests/validate, `make figures`",
    r"^seekwise bench": "its figures are this machine's: tests/sim",
    r"MD-RUN": "names two measured runs: tests/insights",
    r"^seekwise tune model:(?!.*--for database$)|^seekwise tune model:generic": "minutes: tests/simulate; a shorter line is run",
    r"^seekwise run (article-2008|ssd-raid10-chunk|tiobench-comparison)": "minutes: `make figures` runs it",
    r"^(head|node)\$": "needs a cluster: tests/measure",
    r"^seekwise apply last .*--print": "needs a run that measured this machine: tests/settings",
    r"/dev/md0": "needs that array: tests/linux",
    rf"^({'|'.join(TOOLS)})\b": "no command of the program; what it names exists",
}  # fmt: skip
OF_THIS_MACHINE = re.compile(r"seekwise (devices|status|doctor|advise --device|capture)\b")
SLOW = re.compile(r"seekwise (run (?!queue-depth|read-ahead)|design|whatif|tune)")
FIGURES = re.compile(r"<!-- figures: ([a-z0-9-]+) -->")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    is_figure: bool

    @property
    def lines(self) -> list[str]:
        """The commands, as a shell takes them."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.language in ("console", "text"):
            lines = [line for line in lines if line.startswith("$ ")]
        return [re.sub(r"^\s*\$ ", "", line).strip() for line in lines if line.strip()]

    @property
    def shown(self) -> list[str]:
        """What the page shows of the output."""
        if self.language not in ("console", "text"):
            return []
        return [line for line in self.text.splitlines() if not line.startswith("$ ") and line.strip() not in ("", "…")]


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        before = text[: match.start()].rstrip().splitlines()[-1:]
        is_figure = bool(before and FIGURES.search(before[0]))
        found.append(Block(match[1] or "", match[2] or match[3] or "", is_figure))
    # An answer of a published study is a figure in an indented block, no command.
    return [each for each in found if not (each.is_figure and not each.language)]


def why_not(line: str) -> str | None:
    return next((reason for pattern, reason in WHY_NOT.items() if re.search(pattern, line)), None)


def is_command(line: str) -> bool:
    return bool(re.match(rf"(sudo |head\$ |node\$ )?(seekwise|{'|'.join(TOOLS)})\b", line))


def typed(page: Path) -> list[tuple[Block, str]]:
    """(block, line) of each command that is run."""
    return [
        (block, line)
        for block in blocks(page)
        if block.language in ("", "console", "text")
        for line in block.lines
        if is_command(line) and why_not(line) is None
    ]


WITH_COMMANDS = [page for page in PAGES if typed(page)]
CASES = [
    pytest.param(
        page,
        id=place(page),
        marks=[pytest.mark.slow, pytest.mark.timeout(1800)]
        if "proof" in page.relative_to(ROOT).parts or any(SLOW.match(line) for _, line in typed(page))
        else [],
    )
    for page in WITH_COMMANDS
]  # fmt: skip


@pytest.fixture(scope="session")
def prepared(tmp_path_factory) -> Path:
    """A folder with what the pages name, and a results database whose last run is a study with an answer."""
    folder = tmp_path_factory.mktemp("pages")
    for name in ("fio-none.1.json", "fio-none.2.json", "fio-bfq.1.json", "fio-bfq.2.json"):
        shutil.copy(ROOT / "tests/importing/files" / name, folder)
    for name in ("srv.swt", "load.swt"):
        shutil.copy(ROOT / "tests/vectors/whatif/sqlite@wd2500ys.single@bfq.swt", folder / name)
    shutil.copy(ROOT / "studies/nvme-schedulers.toml", folder / "mine.toml")
    for name in ("tests", "studies", "benches", "tools"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "bin").mkdir()
    (folder / "bin/seekwise").write_text(f'#!/bin/sh\nexec {sys.executable} -m seekwise.cli.main "$@"\n')
    (folder / "bin/seekwise").chmod(0o755)
    for line in (
        "seekwise capture before.tar.gz",
        "cp before.tar.gz after.tar.gz; cp before.tar.gz machine.tar.gz",
        "seekwise import fio-none.1.json fio-none.2.json --name before",
        "seekwise import fio-bfq.1.json fio-bfq.2.json --setting fio-none --setting fio-none --name after",
        "seekwise run queue-depth --backend simulated --target wd2500ys --seed 1",
        "cp records.db server.db",
    ):
        done = run(line, folder, 80)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return folder


def run(line: str, folder: Path, columns: int) -> subprocess.CompletedProcess[str]:
    own = {
        "PATH": f"{folder}/bin:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]),
        "SEEKWISE_DB": f"{folder}/records.db",
        "SEEKWISE_STATE": f"{folder}/state",
        "COLUMNS": str(columns),
        "NO_COLOR": "1",
    }
    words = ["sh", "-c", line]
    own_group = subprocess.Popen(
        words, cwd=folder, env={**os.environ, **own}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        out, err = own_group.communicate(timeout=900)
    except subprocess.TimeoutExpired:
        os.killpg(own_group.pid, signal.SIGKILL)
        own_group.communicate()
        raise
    return subprocess.CompletedProcess(words, own_group.returncode, out, err)


@pytest.mark.parametrize("page", CASES)
def test_a_page_typed_from_top_to_bottom_prints_what_it_shows(page: Path, prepared: Path, tmp_path: Path):
    folder = tmp_path / "page"
    shutil.copytree(prepared, folder, symlinks=True)
    for block, line in typed(page):
        wide = max((len(each) for each in block.shown), default=80)
        seeded = f"{line} --seed 1" if block.is_figure else line
        done = run(seeded, folder, 80 if wide <= 80 else 120)
        allowed = (0, 3, 5) if OF_THIS_MACHINE.match(line) else (0, 5) if line.startswith("seekwise verify") else (0,)
        assert done.returncode in allowed, f"{place(page)}: {line}\n{done.stdout}{done.stderr}"
        compare(block, line, done.stdout, page)


def compare(block: Block, line: str, printed: str, page: Path) -> None:
    if block.is_figure:
        shown = [each for each in printed.partition("\nnext:")[0].splitlines() if each.strip()]
        assert shown == block.shown, f"{place(page)}: {line}; `make figures` prints it again"
        return
    known = {shape(each) for each in printed.splitlines()}
    whole = shape(" ".join(printed.split()))
    missing = [each for each in block.shown if shape(each) not in known and shape(each) not in whole]
    assert not missing, f"{place(page)}: {line}\n{printed}"


def shape(line: str) -> str:
    """Numbers, names of runs and spaces may differ."""
    return re.sub(r"\d+(?:[.,-]\w*)*", "0", " ".join(line.split())).strip()


def of_language(language: str) -> list[tuple[Path, str]]:
    return [(page, block.text) for page in PAGES for block in blocks(page) if block.language == language]


@pytest.mark.parametrize(
    ("page", "text"), of_language("toml"), ids=lambda each: place(each) if isinstance(each, Path) else ""
)
def test_a_study_of_a_page_is_one(page: Path, text: str):
    """What a fragment lacks is added."""
    whole = {
        "name": "page",
        "system": [{"name": "disk", "drive": "wd2500ys"}],
        "workload": [{"operations": ["rand_read"]}],
    }
    Study.model_validate({**whole, **tomllib.loads(text)})


@pytest.mark.parametrize(
    ("page", "text"), of_language("python"), ids=lambda each: place(each) if isinstance(each, Path) else ""
)
def test_a_program_of_a_page_runs(page: Path, text: str, tmp_path: Path, monkeypatch):
    if reason := why_not(text):
        pytest.skip(reason)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEEKWISE_DB", str(tmp_path / "records.db"))
    exec(compile(text, place(page), "exec"), {})
