"""`--vary cores=…` and `processes=…`: the machine and the load instead of a model."""

from __future__ import annotations

import pytest

from seekwise.errors import UsageError
from seekwise.report.insights import sensitivity
from seekwise.simulate.backends import get as backend
from seekwise.workload.study import parse

STUDY = """
name = "cores"
question = "How does the rate follow the cores?"
backend = "simulated"

[[system]]
name = "drive"
drive = "samsung_980_pro_1tb/preconditioned"
kernel = "6.3"
options = { cores = 2, whole_drive = true }

[settings]
scheduler = ["none", "mq-deadline"]

[[workload]]
operations = ["rand_read"]
threads = [4]
iodepth = [64]
block_bytes = "4k"
direct = true
runtime = "20ms"

[design]
blocks = 1
"""


def test_cores_and_processes_change_what_is_measured():
    study = parse.loads(STUDY, "a study")
    variations = sensitivity.parsed(study, ["cores=1,4"])
    assert variations[0].values == (1.0, 2.0, 4.0)
    (found,) = sensitivity.run(study, variations, backend("simulated", None), seed=1, tell=lambda *_: None)
    throughputs = [next(iter(found.figures[cores].values())) for cores in (1.0, 2.0, 4.0)]
    assert throughputs[0] < throughputs[1] < throughputs[2]
    (processes,) = sensitivity.parsed(study, ["processes=1,4"])
    assert processes.parameter.value == 4.0


def test_what_cannot_be_varied_is_said():
    several = parse.loads(STUDY.replace("threads = [4]", "threads = [1, 4]"), "a study")
    with pytest.raises(UsageError, match="several numbers of processes"):
        sensitivity.parsed(several, ["processes=1,4"])
    one = parse.loads(STUDY.replace("cores = 2, ", ""), "a study")
    with pytest.raises(UsageError, match="how many cores"):
        sensitivity.parsed(one, ["cores=1,4"])
    with pytest.raises(UsageError, match="whole number of cores"):
        sensitivity.parsed(parse.loads(STUDY, "a study"), ["cores=1,2.5"])
