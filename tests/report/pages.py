"""Every kind of page, written to a folder: what the tests in a browser open."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from click.testing import CliRunner

from report.sample import sample_content
from report.sample_live import live_outcome
from seekwise.cli.main import cli
from seekwise.report import compare_page, comparison, page
from seekwise.report.outcome import content_of
from seekwise.trace import excerpt
from seekwise.trace.columns import REQUEST

SCHEDULERS = """
name = "schedulers"
backend = "simulated"
[[system]]
name = "disk"
drive = "wd2500ys"
kernel = "2.6.24"
[settings]
scheduler = ["noop", "deadline", "cfq"]
[[workload]]
operations = ["rand_read", "seq_write"]
threads = [1, 8]
block_bytes = ["4k", "64k"]
size = "1g"
runtime = "1s"
[design]
blocks = 3
"""
ARRAYS = """
name = "levels"
backend = "simulated"
[[system]]
name = "array"
drive = "generic_1tb_sata"
drives = 4
raid_level = "raid5"
chunk_kib = 64
[settings]
raid_level = ["raid0", "raid10", "raid5", "raid6"]
scheduler = ["mq-deadline"]
[[workload]]
operations = ["seq_write", "rand_write"]
threads = [1, 4]
block_bytes = "8k"
size = "1g"
runtime = "1s"
[design]
blocks = 3
sentinel = false
"""
CHUNKS = """
name = "chunks"
backend = "simulated"
[[system]]
name = "array"
drive = "samsung_850_evo"
drives = 4
raid_level = "raid10"
chunk_kib = 64
kernel = "4.1"
[settings]
chunk_kib = [16, 64, 512]
scheduler = ["deadline"]
[[workload]]
operations = ["rand_read", "rand_write"]
threads = 1
block_bytes = ["8k", "64k", "1m"]
size = "500m"
runtime = "0.3s"
[design]
blocks = 3
"""
BUFFERED = """
name = "buffered"
backend = "simulated"
[[system]]
name = "disk"
drive = "wd2500ys"
kernel = "6.1"
[settings]
scheduler = ["mq-deadline", "bfq"]
[[workload]]
operations = ["seq_read", "seq_write"]
threads = [4]
block_bytes = "16k"
size = "256m"
runtime = "1s"
direct = false
memory_limit = "128m"
[design]
blocks = 3
"""
FIO = Path(__file__).parents[1] / "importing/files"


def write_all(folder: Path) -> dict[str, Path]:
    """{kind: page}; records of the simulated runs lie in `folder/records.db`."""
    made = {
        "study": page.write_report(folder / "study.html", sample_content()),
        "live": page.write_report(folder / "live.html", content_of(live_outcome())),
        "live-one-use": page.write_report(folder / "live-one-use.html", content_of(live_outcome(1))),
        "live-traced": page.write_report(folder / "live-traced.html", content_of(traced_outcome())),
    }
    studies = (
        ("schedulers", SCHEDULERS),
        ("arrays", ARRAYS),
        ("chunks", CHUNKS),
        ("buffered", BUFFERED),
    )
    for name, text in studies:
        made[name] = run(folder, name, text)
    files = [str(FIO / name) for name in ("fio-none.1.json", "fio-none.2.json", "fio-bfq.1.json", "fio-bfq.2.json")]
    invoke(folder, "import", *files)
    made["imported"] = report(folder, "imported")
    invoke(folder, "run", str(folder / "schedulers.toml"), "--seed", "99")
    runs = [line.split()[0] for line in invoke(folder, "results").splitlines()[1:] if "schedulers" in line]
    invoke(folder, "report", *runs, "--output", str(folder / "comparison.html"))
    made["comparison"] = folder / "comparison.html"
    made["live-comparison"] = compare_page.write(folder / "live-comparison.html", live_pairing())
    return made


def traced_outcome():
    """A measured run of which the kernel's block events were kept."""
    found = live_outcome(2)
    settings = {
        each.label: traced_rows(each_ms=2.0 + 3 * number, count=200 // (1 + number))
        for number, each in enumerate(found.plan.candidates)
    }
    document = {"uses": {found.plan.uses[0].name: {"dropped": 0, "settings": settings}}}
    return replace(found, plan=replace(found.plan, extra={excerpt.KEY: document}))


def traced_rows(each_ms: float, count: int) -> dict:
    """Reads of three threads, each at the drive for `each_ms`, packed as a run keeps them."""
    rows = np.zeros(count, REQUEST)
    rows["complete_ns"] = ((np.arange(count) + 1) * each_ms * 1e6).astype(np.int64)
    rows["issue_ns"] = rows["complete_ns"] - int(each_ms * 1e6)
    rows["arrival_ns"] = rows["insert_ns"] = rows["issue_ns"] - 100_000
    rows["sector"], rows["sectors"], rows["process"] = np.arange(count) * 7_919_000 % 2**29, 8, 1 + np.arange(count) % 3
    return excerpt.packed(rows, 0, int(count * each_ms * 1e6))


def live_pairing() -> comparison.Pairing:
    """The same machine twice, the second time 20 % slower."""
    from seekwise.judge.decision.records import entries
    from seekwise.judge.decision.runs import changes

    sides = [live_outcome(3, name="before"), live_outcome(3, name="after", seed=9, slower=1.25)]
    found = changes(*(entries(side.records, side.plan) for side in sides))
    runs = [replace(side.run, run_id=f"2026010{n}-0304-abcd") for n, side in enumerate(sides, start=1)]
    return comparison.Pairing(*runs, comparison.rows_of(found, sides[1].decided.judged), ("kernel: 6.1 against 6.12",))


def invoke(folder: Path, *words: str) -> str:
    result = CliRunner().invoke(cli, [*words, "--db", str(folder / "records.db")], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def run(folder: Path, name: str, text: str) -> Path:
    (folder / f"{name}.toml").write_text(text)
    invoke(folder, "run", str(folder / f"{name}.toml"))
    return report(folder, name)


def report(folder: Path, name: str) -> Path:
    invoke(folder, "report", "last", "--output", str(folder / f"{name}.html"))
    return folder / f"{name}.html"
