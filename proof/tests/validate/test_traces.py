"""This test will play measured traces on the drives of DiskSim's library, and refuse what cannot be one with one sentence."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from seekwise.cli.import_ import command as import_command
from seekwise.errors import UsageError
from seekwise.trace.disksim import drive, requests, syntax
from seekwise_proof.validate import traces

DATA = Path(__file__).parents[3] / "tests/reference" / "disksim"


@pytest.fixture(scope="module")
def report():
    return traces.verify([DATA], {})


def test_the_demerit_is_no_worse_than_disksims_own_on_three_of_five_drives(report):
    found = {Path(file.file).name.split(".")[0]: file for file in report.files}
    assert len(found) == 5
    assert {name for name, file in found.items() if file.passed} >= {"atlas_III", "barracuda", "cheetah9LP"}
    assert report.met


def test_each_miss_says_where_it_comes_from(report):
    for file in report.files:
        assert len(file.misses) == 1 - file.passed
        assert all("requests) make up most of it" in miss for miss in file.misses)


def test_the_document_has_the_promised_figures(report):
    for file in report.files:
        assert min(file.requests, file.demerit_ms) > 0
        assert abs(file.mean_ms / file.mean_measured_ms - 1) < 0.04


def test_a_demerit_is_the_root_mean_square_of_horizontal_distances():
    assert traces.demerit(np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 3.0])) == 0
    assert traces.demerit(np.array([1.0, 2.0]), np.array([4.0, 2.0])) == pytest.approx(np.sqrt((1 + 4) / 2))


def test_a_trace_without_parameters_is_a_miss_that_says_so(tmp_path):
    shutil.copy(DATA / "cheetah9LP.trace.gz", tmp_path / "lonely.trace.gz")
    report = traces.verify([tmp_path], {})
    assert (report.passed, report.total, report.met) == (0, 1, False)
    assert "lonely.parv" in report.files[0].misses[0]


def test_a_folder_without_traces_is_not_met(tmp_path):
    assert not traces.verify([tmp_path], {}).met


def test_a_request_beyond_the_drive_is_refused(tmp_path):
    for path in DATA.glob("cheetah9LP.*"):
        shutil.copy(path, tmp_path)
    (tmp_path / "cheetah9LP.trace.gz").write_bytes(gzip.compress(b"R Hit 99999999 8 100.0 100.0\n"))
    (file,) = traces.verify([tmp_path], {}).files
    assert "asks for 8 sectors from 99999999" in file.misses[0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"X Hit 1 8 1.0 1.0", "is not `R|W ACTION"),
        (b"R Hit 1 8 1.0", "is not `R|W ACTION"),
        (b"R Hit 1 8 nan 1.0", "cannot be"),
        (b"R Hit -1 8 1.0 1.0", "cannot be"),
        (b"R Hit 1 0 1.0 1.0", "cannot be"),
        (b"", "has no requests"),
    ],
)
def test_a_malformed_trace_names_its_line(tmp_path, line, said):
    path = tmp_path / "bad.trace"
    path.write_bytes(line + b"\n")
    with pytest.raises(UsageError, match="bad.trace") as raised:
        requests.read(path)
    assert said in raised.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("disksim_disk D { Key = 1", "ends in the middle"),
        ("disksim_disk D { Key 1 }", "should be followed by"),
        ("disksim_disk D { Key = [1, 2 }", "missing"),
        ("source me.diskspecs", "contains itself"),
        ("source ../other", "leads out of the folder"),
        ("source missing.parv", "cannot be read"),
        ("disksim_disk D { K = " + "[" * 200, "nested too deep"),
        ("disksim_disk A { }\ndisksim_disk B { }", "describes 2 disks"),
        ("disksim_disk D { Model = 5 }", "`Model` should be a block"),
        ("disksim_disk D { }", "lacks `Model`"),
        ("", "describes 0 disks"),
    ],
)
def test_malformed_parameters_are_one_clear_error(tmp_path, text, said):
    path = tmp_path / "me.diskspecs"
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        drive.load(path)
    assert said in raised.value.message
    assert "me.diskspecs" in raised.value.message or "missing.parv" in raised.value.message


def test_comments_sources_and_nested_blocks_are_read(tmp_path):
    (tmp_path / "inner").write_text("part P { Deep key (of 2) = [ 1, 2.5, word ], }")
    path = tmp_path / "outer"
    path.write_text(
        "# top\ninstantiate [ a, b ] as X\nthing T { A = -1e3, # no\n B = source inner, C = kind { D = 0 } }\n"
    )
    (block,) = syntax.read(path)
    assert block.values["A"] == -1000.0
    assert block.values["B"].values == {"Deep key (of 2)": [1, 2.5, "word"]}
    assert block.values["C"].values == {"D": 0}


def test_an_imported_drive_is_a_model_file(tmp_path):
    result = CliRunner().invoke(import_command, [str(DATA / "hp_c2247a.parv"), "--output", str(tmp_path), "--json"])
    assert result.exit_code == 0, result.output
    (document,) = json.loads(result.output)["drives"]
    assert document["name"] == "HP_C2247A_validate"
    text = Path(document["model"]).read_text()
    assert 'kind = "extracted"' in text
    assert "rpm = 5400" in text


def test_every_kind_of_seek_curve_becomes_points():
    def values(**extra):
        return drive._Values(
            syntax.ParameterBlock("dm_mech_g1", "", {key.replace("_", " "): v for key, v in extra.items()}), Path("x")
        )

    three = values(Single_cylinder_seek_time=1.0, Average_seek_time=8.0, Full_strobe_seek_time=15.0)
    curve = dict(drive.SEEKS["curve"](three, 1000, Path()))
    assert curve[1] == 1.0
    assert curve[999] == pytest.approx(15.0, rel=0.01)
    hpl = values(HPL_seek_equation_values=[300, 3.81, 0.33, 7.75, 0.0059, -1.0])
    points = dict(drive.SEEKS["hpl"](hpl, 2051, Path()))
    assert points[100] == pytest.approx(3.81 + 0.33 * 10)
    assert points[2050] == pytest.approx(7.75 + 0.0059 * 2050)
    line = dict(drive.SEEKS["linear"](three, 900, Path()))
    assert line[300] == 8.0
