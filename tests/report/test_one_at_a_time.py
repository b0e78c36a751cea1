"""A study of two settings says what each brings alone and what both bring together."""

from __future__ import annotations

import re
from math import exp, log
from statistics import fmean

from click.testing import CliRunner

from seekwise.cli.main import cli
from seekwise.store.database import Store

STUDY = """
name = "ncq"
backend = "simulated"
[[system]]
name = "one"
drive = "wd2500ys"
[settings]
scheduler = ["none", "mq-deadline"]
queue_depth = [1, 31]
[[workload]]
operations = ["rand_read"]
threads = 1
iodepth = 32
direct = true
size = "64m"
random_ios = 300
[design]
blocks = 4
reference = "none queue_depth=1"
"""


def test_each_alone_then_both(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEKWISE_DB", str(tmp_path / "records.db"))
    path = tmp_path / "ncq.toml"
    path.write_text(STUDY)
    runner = CliRunner()
    assert runner.invoke(cli, ["run", str(path), "--seed", "1"], catch_exceptions=False).exit_code == 0
    shown = " ".join(runner.invoke(cli, ["results", "last"], catch_exceptions=False).stdout.split())
    said = re.search(
        r"One thing at a time, \S.*?: scheduler=mq-deadline alone (\S+(?: %| times)), queue_depth=31 alone (\S+(?: %| times)), "
        r"scheduler=mq-deadline queue_depth=31 (\S+(?: %| times))",
        shown,
    )
    assert said, shown
    rates: dict[str, list[float]] = {}
    with Store.open(create=False) as store:
        for record in store.records(store.run("last").run_id):
            rates.setdefault(record.setting, []).append(log(record.phases[0].rate_bytes_per_s))
    base = fmean(rates["none queue_depth=1"])
    for name, text in zip(
        ("mq-deadline queue_depth=1", "none queue_depth=31", "mq-deadline queue_depth=31"), said.groups(), strict=True
    ):
        ratio = exp(fmean(rates[name]) - base)
        number = float(text.split()[0].replace("−", "-").replace("+", ""))
        assert abs((number if text.endswith("times") else 1 + number / 100) - ratio) < 0.06, (name, text, ratio)
