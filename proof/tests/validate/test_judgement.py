"""`seekwise verify judgement`: the calibration is met, files are judged and counted, bad files count as missed."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from seekwise.judge import judge
from seekwise.judge.observation import Observation
from seekwise_proof.calibration.noise import NoiseDesign, mixture, study
from seekwise_proof.calibration.suite import calibrate, judged_score
from seekwise_proof.cli.verify import command
from seekwise_proof.validate import judgement

KEYS = (
    "tables",
    "null_tables",
    "null_tables_with_winner",
    "winners",
    "false_winners",
    "ties",
    "false_ties",
    "effects",
    "found",
)


def write(path: Path, designs: list[NoiseDesign], seed: int = 3, truth_name: str | None = None) -> None:
    """A table file with its truth, each design one table."""
    rng = np.random.default_rng(seed)
    with (
        path.open("w", newline="") as data,
        path.with_name(truth_name or path.stem + ".truth.csv").open("w", newline="") as true,
    ):
        rows, truths = csv.writer(data), csv.writer(true)
        rows.writerow(judgement.COLUMNS)
        truths.writerow(judgement.TRUTH_COLUMNS)
        for number, design in enumerate(designs):
            grid, known = study(design, rng)
            for combination, repetition, setting in np.ndindex(*grid.log_values.shape):
                value = float(np.exp(grid.log_values[combination, repetition, setting]))
                rows.writerow(
                    [f"table {number}", repetition, f"cell {combination}", f"s{setting}", design.metric, repr(value)]
                )
            for combination in range(design.combinations):
                for a in range(design.settings):
                    for b in range(a + 1, design.settings):
                        ratio = float(np.exp(known.log_effect[combination, a] - known.log_effect[combination, b]))
                        truths.writerow(
                            [f"table {number}", f"cell {combination}", design.metric, f"s{a}", f"s{b}", repr(ratio)]
                        )


def run(*arguments: str | Path) -> tuple[int, dict]:
    result = CliRunner().invoke(command, ["judgement", *map(str, arguments), "--json"], standalone_mode=False)
    assert result.exception is None, result.exception
    return int(result.return_value), json.loads(result.stdout)


SHORTFALLS = {
    "ties shown in the mixed study, per comparison": 0.05,
    "false ties in mixed tables of periods": 0.09,
}
"""Promises that are known not to be kept (proof/docs/decision-rules.md says why), and how far from kept they may be.
`verify judgement` prints them as missed. One that is kept again leaves this list."""


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_promise_of_the_rule_is_kept_but_those_known_not_to_be() -> None:
    total, checks = calibrate()
    assert {check.name for check in checks if not check.met} == set(SHORTFALLS), [check.text for check in checks]
    limits = {check.name: replace(check, bound=SHORTFALLS[check.name]) for check in checks if check.name in SHORTFALLS}
    assert all(check.met for check in limits.values()), [check.text for check in limits.values()]
    assert total.null_tables >= 160 and total.effects > 2_000


@pytest.mark.slow
def test_promises_hold_for_another_seed_and_other_mixtures() -> None:
    rng = np.random.default_rng(99)
    nothing = judged_score(mixture(400, rng), rng)
    assert nothing.null_tables_with_winner_share <= 0.08
    mixed = judged_score(mixture(300, rng, effect_share=0.5, effect_min=0.0), rng)
    # 124 of 2,475 since rule 10; of the suite's own seed 44 of 933.
    assert mixed.false_winners_share <= 0.051
    assert mixed.false_ties_share <= 0.07


def test_a_file_is_judged_as_records_are_and_counted(tmp_path: Path) -> None:
    designs = [
        NoiseDesign(combinations=40, repetitions=5),
        NoiseDesign(combinations=40, repetitions=5, effect_share=0.5, noise_median=0.01, settings=3),
    ]
    write(tmp_path / "x.csv", designs)
    status, document = run(tmp_path / "x.csv")
    assert status == 0
    assert document["schema"] == "seekwise.validate.judgement/1"
    assert (document["tables"], document["null_tables"]) == (2, 1)
    assert document["effects"] > 0 and document["found"] > 0.8 * document["effects"] - 10
    assert document["total"] == 40 + 40 * 3
    assert document["files"][0]["file"].endswith("x.csv")
    # The same observations through judge() directly.
    with (tmp_path / "x.csv").open() as file:
        observations = [
            Observation(r["table"], r["cell"], int(r["block"]), r["setting"], r["metric"], float(r["value"]))
            for r in csv.DictReader(file)
        ]
    pairs = judge(observations)
    assert document["winners"] == sum(pair.winner is not None for pair in pairs)
    assert document["ties"] == sum(pair.verdict == "same" and not pair.is_sure for pair in pairs)


def test_truth_may_be_named_after_the_whole_file_name(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", [NoiseDesign(combinations=12)], truth_name="x.csv.truth.csv")
    assert run(tmp_path / "x.csv")[1]["tables"] == 1


def test_truth_in_the_other_order_is_the_same_truth(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", [NoiseDesign(combinations=20, effect_share=0.5, noise_median=0.005, spread="equal")])
    _, forward = run(tmp_path / "x.csv")
    truth = tmp_path / "x.truth.csv"
    with truth.open() as file:
        rows = list(csv.DictReader(file))
    with truth.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(judgement.TRUTH_COLUMNS)
        for r in rows:
            writer.writerow(
                [r["table"], r["cell"], r["metric"], r["setting_b"], r["setting_a"], repr(1 / float(r["ratio"]))]
            )
    _, backward = run(tmp_path / "x.csv")
    assert {k: forward[k] for k in KEYS} == {k: backward[k] for k in KEYS}
    assert forward["found"] > 0


def test_a_lie_in_the_truth_is_counted_as_a_false_winner_and_a_false_tie(tmp_path: Path) -> None:
    write(
        tmp_path / "x.csv",
        [NoiseDesign(combinations=12, noise_median=0.002, spread="equal", effect_share=0.5, effect_min=0.1)],
    )
    truth = tmp_path / "x.truth.csv"
    with truth.open() as file:
        rows = list(csv.DictReader(file))
    equal = next(r for r in rows if float(r["ratio"]) == 1)
    different = next(r for r in rows if float(r["ratio"]) != 1)
    equal["ratio"], different["ratio"] = "1.5", "1"
    with truth.open("w", newline="") as file:
        writer = csv.DictWriter(file, judgement.TRUTH_COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    status, document = run(tmp_path / "x.csv")
    assert status == 5
    assert (document["false_winners"], document["false_ties"]) == (1, 1)
    assert len(document["files"][0]["misses"]) == 2
    assert document["passed"] == document["total"] - 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_text(""),
        lambda path: path.write_text("a,b,c\n1,2,3\n"),
        lambda path: path.write_bytes(b"\xff\xfe\x00table"),
        lambda path: path.write_text(",".join(judgement.COLUMNS) + "\n"),
    ],
)
def test_an_unreadable_table_misses_all_its_points(tmp_path: Path, damage) -> None:
    write(tmp_path / "x.csv", [NoiseDesign(combinations=12)])
    damage(tmp_path / "x.csv")
    status, document = run(tmp_path / "x.csv")
    assert status == 5
    assert (document["passed"], document["total"]) == (0, 12)


def test_a_table_without_truth_is_missed(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", [NoiseDesign(combinations=12)])
    (tmp_path / "x.truth.csv").unlink()
    status, document = run(tmp_path / "x.csv")
    assert (status, document["passed"], document["total"]) == (5, 0, 1)


def test_a_file_that_ends_in_the_middle_of_a_row_misses_that_cell(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", [NoiseDesign(combinations=12)])
    path = tmp_path / "x.csv"
    path.write_text(path.read_text().rstrip("\r\n").rsplit(",", 1)[0])
    status, document = run(path)
    assert status == 5
    assert (document["passed"], document["total"]) == (11, 12)
    assert "unfinished" in document["files"][0]["misses"][0]


def test_missing_values_are_no_error(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", [NoiseDesign(combinations=12)])
    path = tmp_path / "x.csv"
    lines = path.read_text().splitlines()
    for number, value in ((1, ""), (2, "nan"), (3, "0"), (4, "inf")):
        lines[number] = lines[number].rsplit(",", 1)[0] + "," + value
    path.write_text("\n".join(lines) + "\n")
    status, document = run(path)
    assert (status, document["passed"]) == (0, 12)


def test_a_comparison_that_the_table_does_not_hold_is_missed(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", [NoiseDesign(combinations=12)])
    with (tmp_path / "x.truth.csv").open("a") as file:
        file.write("table 0,cell 99,rate,s0,s1,1.0\n")
    status, document = run(tmp_path / "x.csv")
    assert (status, document["passed"], document["total"]) == (5, 12, 13)


def test_a_folder_is_searched_for_tables(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    write(tmp_path / "deep" / "a.csv", [NoiseDesign(combinations=12)])
    write(tmp_path / "b.csv", [NoiseDesign(combinations=12)], seed=4)
    assert [Path(f["file"]).name for f in run(tmp_path)[1]["files"]] == ["b.csv", "a.csv"]


def test_an_empty_folder_is_missed(tmp_path: Path) -> None:
    assert run(tmp_path)[0] == 5


def test_a_person_reads_counts_and_misses(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", [NoiseDesign(combinations=12)])
    result = CliRunner().invoke(command, ["judgement", str(tmp_path / "x.csv")], standalone_mode=False)
    assert "of these with a winner: 0" in result.stdout
    assert "12 of 12" in result.stdout
