"""`seekwise verify vectors`: N of M, misses, a look at a row, and files that cannot be replayed."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from seekwise import _core
from seekwise.errors import Exit
from seekwise_proof.cli.verify import command

VECTORS = Path(__file__).parents[3] / "tests/vectors"


def verify(*arguments: object):
    """Exit status and document of one call."""
    result = CliRunner().invoke(command, ["vectors", "--json", *map(str, arguments)], standalone_mode=False)
    assert result.exception is None, result.exception
    return result.return_value, json.loads(result.stdout)


def test_every_single_queue_recording_reaches_its_share():
    status, document = verify(*(VECTORS / name for name in ("noop", "deadline", "anticipatory", "cfq")))
    assert status == Exit.DONE
    for group in document["groups"]:
        required = group["required_per_mille"] / 1000
        for score in (group, group["contested"]):
            assert score["passed"] >= required * score["total"] > 0, group
    assert document["passed"] == sum(file["passed"] for file in document["files"])
    assert document["total"] == sum(file["total"] for file in document["files"])


def test_a_byte_order_mark_and_line_ends_of_other_systems_change_nothing(tmp_path):
    for name in ("requests", "noop"):
        (tmp_path / name).mkdir()
    name = "2.6.24-hz250__burst_r120_a__fixed1.csv"
    text = (VECTORS / "noop" / name).read_bytes()
    (tmp_path / "noop" / name).write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n"))
    status, document = verify(tmp_path / "noop" / name)
    assert (
        status == Exit.DONE and document["passed"] == document["total"] == verify(VECTORS / "noop" / name)[1]["total"]
    )


def test_explain_shows_who_waits_and_the_inner_state():
    file = VECTORS / "deadline" / "2.6.32.69__wstarve_a__fixed1.csv"
    _, document = verify(file, "--explain", 200)
    look = document["files"][0]["look"]
    assert look["row"] == 200
    assert look["waiting"] and "batch" in look["state"] and look["would_choose"]
    shown = CliRunner().invoke(command, ["vectors", "--explain", "200", str(file)], standalone_mode=False).stdout
    assert "the model would dispatch" in shown


@pytest.mark.parametrize("damage", ["cut in a row", "cut at a row", "no header", "unknown name", "no requests"])
def test_a_damaged_recording_counts_all_its_points_as_missed(tmp_path, damage):
    name = "4.4.178__rand4_a__fixed1.csv"
    text = (VECTORS / "cfq" / name).read_text()
    issues = sum(line.split(",")[1] == "issue" for line in text.splitlines())
    folder = tmp_path / "cfq"
    folder.mkdir()
    if damage != "no requests":
        shutil.copytree(VECTORS / "requests", tmp_path / "requests")
    if damage == "cut in a row":
        text = text[: len(text) // 2]
    elif damage == "cut at a row":
        text = "".join(text.splitlines(keepends=True)[:500])
    elif damage == "no header":
        text = text.split("\n", 1)[1]
    (folder / ("recording.csv" if damage == "unknown name" else name)).write_text(text)
    status, document = verify(folder)
    assert status == Exit.NOT_MET
    assert document["passed"] == 0
    assert document["files"][0]["error"]
    assert document["total"] >= (issues if damage in ("no header", "unknown name", "no requests") else issues // 3)


def test_another_variant_of_a_workload_is_replayed_from_its_own_requests(tmp_path):
    folder = tmp_path / "far" / "noop"
    folder.mkdir(parents=True)
    requests = tmp_path / "requests"
    requests.mkdir()
    shutil.copy(VECTORS / "noop" / "2.6.24-hz250__rand4_a__linear1.csv", folder / "2.6.24-hz250__rand4_b__linear1.csv")
    for kind in ("processes", "requests"):
        shutil.copy(VECTORS / "requests" / f"rand4_a.{kind}.csv", requests / f"rand4_b.{kind}.csv")
    status, document = verify(tmp_path)
    assert status == Exit.DONE
    assert document["files"][0]["kernel"] == "2.6.24-hz250"


def test_the_registry_tells_defaults_by_kernel_and_tick():
    def tunables(kernel: str, name: str, **options: bool):
        entries = json.loads(_core.schedulers(kernel, **options))["schedulers"]
        return {row["name"]: row for entry in entries if entry["name"] == name for row in entry["tunables"]}

    assert tunables("2.6.24-hz250", "anticipatory")["antic_expire"]["default"] == 4
    assert tunables("2.6.32-hz1000", "anticipatory")["antic_expire"]["default"] == 6
    assert tunables("2.6.24-hz250", "cfq")["fifo_expire_sync"]["default"] == 124
    assert tunables("2.6.24-hz250", "cfq")["low_latency"]["available"] is False
    assert tunables("4.4-hz1000", "cfq")["quantum"]["default"] == 8
    assert tunables("4.4-hz1000", "cfq", rotational=False)["slice_idle"]["default"] == 0
    assert tunables("4.4-hz1000", "cfq")["slice_idle"]["unit"] == "ms"


@pytest.mark.parametrize(
    ("scheduler", "kernel", "tunables", "sentence"),
    [
        ("deadline", "2.6.32", {"read_expire": -5}, "deadline read_expire is -5 ms, outside 0 to"),
        ("cfq", "2.6.32", {"depth": 5}, 'cfq has no tunable "depth"'),
        ("cfq", "6.1", {}, "Linux 6.1 has no cfq"),
    ],
)
def test_an_absurd_tunable_is_refused_by_name_and_unit(scheduler, kernel, tunables, sentence):
    queue = {"scheduler": scheduler, "kernel": kernel, "tunables": tunables}
    jobs = [{"pattern": "random", "block_bytes": 4096, "ios": 1}]
    spec = {"seed": 0, "device": {"model": "null"}, "queue": queue, "phases": [{"operation": "x", "jobs": jobs}]}
    with pytest.raises(ValueError, match=sentence):
        _core.describe_cell(json.dumps(spec))
