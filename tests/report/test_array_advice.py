"""These tests will hold the choice of an array to its order: safety is named, and nothing without any is recommended beside it."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from report import pages
from report.sample import sample_content, sample_records
from seekwise.judge import array_choice, arrays
from seekwise.report import array_advice, of_run, page, pareto
from seekwise.store.database import Store

LEVELS = {
    # level: (capacity in drives, failures survived, rate factor)
    "raid0": (4, 0, 2.0),
    "raid10": (2, 1, 1.0),
    "raid5": (3, 1, 0.6),
    "raid6": (2, 2, 0.55),
}


def records_of(*levels: str, throughputs: dict[str, float] | None = None, missing: int = 0):
    """Two repetitions of one trial each; rates relative to each other as given."""
    first = sample_records(repetitions=1, threads=(1,))[0]
    found = []
    for level in levels:
        drives, survives, throughput = LEVELS[level]
        throughput = (throughputs or {}).get(level, throughput)
        load = {
            "array": {
                "level": level.replace("raid", "RAID "), "members": 4, "layout": None, "chunk_kib": 64, "missing": [0] * missing,
                "bitmap": "none", "state": "clean", "capacity_bytes": drives * 10**12, "survives_failures": survives - missing,
                "rebuild_s": 9600.0 if survives else None,
            }
        }  # fmt: skip
        for repetition in range(2):
            phases = tuple(
                replace(p, bytes=int(p.bytes * throughput), ios=int(p.ios * throughput)) for p in first.phases
            )
            factors = {**first.factors, "raid_level": level, "system": "array", "missing": missing}
            label = f"raid_level={level}" + (f" missing={missing}" if missing else "")
            found.append(replace(first, repetition=repetition, setting=label, factors=factors, load=load, phases=phases, combination="system=array threads=1"))  # fmt: skip
    return found


def test_the_fastest_array_that_survives_a_failure_is_named_with_what_it_survives_and_its_speed():
    advice = array_advice.advice(records_of("raid0", "raid10", "raid5", "raid6"))
    assert advice.headline.startswith("RAID 10 of 4, chunk 64 KiB: survives 1 drive failure, 2.00 TB usable")
    assert "random write" in advice.headline and "MB/s" in advice.headline
    assert advice.recommended == ("raid_level=raid10",)


@pytest.mark.parametrize("speed", [1.01, 10.0, 1000.0])
def test_an_array_that_survives_nothing_is_never_recommended_however_fast(speed):
    advice = array_advice.advice(records_of("raid0", "raid6", throughputs={"raid0": speed}))
    assert "RAID 0" not in advice.headline and advice.recommended == ("raid_level=raid6",)
    refused = next(reason for reason in advice.reasons if reason.startswith("RAID 0"))
    assert "survives no drive failure" in refused and "one failed drive loses all data" in refused


def test_who_studies_nothing_else_is_told_that_nothing_is_survived():
    both = records_of("raid0")
    other = [
        replace(r, setting="raid_level=raid0 drives=6", factors={**r.factors, "drives": 6},
                load={"array": {**r.load["array"], "members": 6, "capacity_bytes": 6 * 10**12}})
        for r in records_of("raid0")
    ]  # fmt: skip
    advice = array_advice.advice([*both, *other])
    assert (
        "no array here survives a drive failure" in advice.headline and "survives no drive failure" in advice.headline
    )
    assert array_choice.unsafe_settings([*both, *other]) == set()


def test_of_arrays_as_fast_the_safer_one_is_named():
    advice = array_advice.advice(records_of("raid5", "raid6", throughputs={"raid5": 1.0, "raid6": 0.99}))
    assert advice.headline.startswith("RAID 6")


def with_loads(rates: dict[str, dict[int, tuple[float, ...]]]):
    """Records of levels with MB/s of each repetition by threads, sequential reads of 128 KiB."""
    found = []
    for level, by_threads in rates.items():
        for threads, repeated in by_threads.items():
            for record, rate in zip(records_of(level) * 2, repeated, strict=False):
                phase = replace(
                    record.phases[0], operation="seq_read", bytes=int(rate * 1e6 * record.phases[0].elapsed_s)
                )
                combination = f"system=array load=files threads={threads} block=128k"
                factors = {**record.factors, "threads": threads}
                found.append(replace(record, phases=(phase,), combination=combination, factors=factors))
    return found


def test_the_sentence_says_by_which_load_an_array_is_fastest():
    advice = array_advice.advice(
        with_loads({"raid10": {1: (225.0, 225.0), 4: (900.0, 900.0)}, "raid5": {1: (396.0, 396.0), 4: (175.0, 175.0)}})
    )
    assert "over all loads" in advice.headline
    assert "Against RAID 5 of 4 sequential read with 4 threads 5.1 times faster" in advice.headline
    assert "sequential read with 1 thread 43 % slower" in advice.headline
    (other,) = [reason for reason in advice.reasons if reason.startswith("RAID 5 of 4, chunk 64 KiB: survives")]
    assert "sequential read with 1 thread 76 % faster" in other and "with 4 threads 5.1 times slower" in other


def test_what_repetitions_leave_open_is_called_equal():
    steady = with_loads({"raid10": {1: (300.0, 300.0)}, "raid5": {1: (225.0, 225.0)}})
    assert array_choice.choose(steady).as_fast == ()
    # The same means, but one of the two repetitions of each is far off.
    unsteady = with_loads({"raid10": {1: (200.0, 400.0)}, "raid5": {1: (150.0, 300.0)}})
    found = array_choice.choose(unsteady)
    assert found.array.name.startswith("RAID 5") and [row.name[:7] for row in found.as_fast] == ["RAID 10"]
    assert max(found.array.spreads.values()) == pytest.approx(1 / 3)
    assert (
        "RAID 10 of 4, chunk 64 KiB is as fast within what the model can tell" in array_advice.advice(unsteady).headline
    )


def test_rebuild_time_and_what_is_survived_meanwhile_are_told():
    reasons = " ".join(array_advice.advice(records_of("raid10", "raid5")).reasons)
    assert "RAID 10 of 4: rebuilding one drive takes 2 h 40 min" in reasons and "survives no further failure" in reasons
    reasons = " ".join(array_advice.advice(records_of("raid6", "raid5", throughputs={"raid6": 3.0})).reasons)
    assert "RAID 6 of 4: rebuilding" in reasons and "still survives 1 more" in reasons


def test_a_degraded_array_is_a_state_and_no_candidate():
    found = [*records_of("raid10", "raid5"), *records_of("raid5", missing=1, throughputs={"raid5": 50.0})]
    advice = array_advice.advice(found)
    assert advice.headline.startswith("RAID 10")
    assert "was not simulated" not in " ".join(advice.reasons)


def test_arrays_that_differ_in_nothing_but_their_scheduler_are_no_choice_of_an_array():
    same = [replace(r, setting=name) for name in ("cfq", "noop") for r in records_of("raid5")]
    assert array_advice.advice(same) is None
    assert array_advice.advice(sample_records()) is None


def test_the_picture_numbers_the_arrays_and_fills_those_on_the_front():
    rows = arrays.rows(records_of("raid0", "raid10", "raid5", "raid6"))
    picture = str(pareto.picture(rows))
    assert all(f">{number}</text>" in picture for number in (1, 2, 3, 4))
    # RAID 0 is fastest and largest, RAID 10 and 6 survive more than it; RAID 5 offers more room than RAID 10.
    assert picture.count('class="pareto front"') == 4
    slow = arrays.rows(records_of("raid10", "raid6", throughputs={"raid10": 0.5, "raid6": 1.0}))
    assert str(pareto.picture(slow)).count('class="pareto front"') == 1


def test_advice_for_a_use_leaves_unsafe_arrays_out():
    assert array_choice.unsafe_settings(records_of("raid0", "raid10", "raid5")) == {"raid_level=raid0"}


@pytest.fixture(scope="module")
def planned(tmp_path_factory) -> of_run.Report:
    """A study of levels that says nothing of failures."""
    folder = tmp_path_factory.mktemp("levels")
    (folder / "levels.toml").write_text(pages.ARRAYS)
    pages.invoke(folder, "run", str(folder / "levels.toml"))
    with Store.open(folder / "records.db", create=False) as store:
        return of_run.of_runs(store, store.run("last"))


def test_rates_with_a_failed_drive_and_while_it_is_rebuilt_stand_beside_those_of_the_study(planned):
    found = {row.name: row for row in planned.content.arrays}
    for level in ("RAID 10", "RAID 5", "RAID 6"):
        whole, failed, rebuilt = (
            found[f"{level} of 4, chunk 64 KiB{state}"] for state in ("", ", 1 missing", ", rebuilding")
        )
        assert not whole.beyond_study and failed.beyond_study and rebuilt.is_degraded
        assert failed.survives_failures == rebuilt.survives_failures == whole.survives_failures - 1
        assert failed.rates_mb_s.keys() == rebuilt.rates_mb_s.keys() == whole.rates_mb_s.keys()
        # A rebuild shares the drives with the load, and the load with it.
        assert all(rebuilt.rates_mb_s[name] < failed.rates_mb_s[name] for name in failed.rates_mb_s)
        assert whole.rebuild_loaded_s >= whole.rebuild_s
    assert "RAID 0 of 4, chunk 64 KiB, 1 missing" not in found
    assert [row.name for row in array_choice.candidates(planned.content.arrays)] == [
        f"{level} of 4, chunk 64 KiB" for level in ("RAID 0", "RAID 5", "RAID 6", "RAID 10")
    ]


def test_what_is_simulated_beside_the_study_is_what_the_study_with_missing_drives_finds(planned, tmp_path):
    text = pages.ARRAYS.replace('scheduler = ["mq-deadline"]', 'scheduler = ["mq-deadline"]\nmissing = [0, 1]')
    (tmp_path / "missing.toml").write_text(text.replace('"raid0", "raid10", "raid5", "raid6"', '"raid5"'))
    pages.invoke(tmp_path, "run", str(tmp_path / "missing.toml"))
    with Store.open(tmp_path / "records.db", create=False) as store:
        studied = of_run.of_runs(store, store.run("last")).content.arrays
    assert not any(row.beyond_study for row in studied)
    name = "RAID 5 of 4, chunk 64 KiB, 1 missing"
    simulated = next(row for row in planned.content.arrays if row.name == name)
    own = next(row for row in studied if row.name == name)
    # Other seeds, and the best load of the whole array may be another one than that of the degraded array.
    for operation, throughput in own.rates_mb_s.items():
        assert simulated.rates_mb_s[operation] == pytest.approx(throughput, rel=0.3)


def test_the_answer_and_the_page_say_what_a_failure_costs(planned):
    reasons = " ".join(planned.content.advice.reasons)
    assert (
        "With a failed drive: " in reasons
        and "While it is rebuilt: " in reasons
        and "with database transactions" in reasons
    )
    assert "was not simulated" not in reasons
    text = page.render(planned.content)
    assert text.count('class="state"') == 6 and "simulated in addition to the study, for the same loads" in text
    assert "raid_level=" not in text.partition('id="insights"')[2].partition("<h2")[0]


def test_a_study_of_nothing_but_degraded_arrays_shows_them(tmp_path):
    text = pages.ARRAYS.replace("chunk_kib = 64", "chunk_kib = 64\nmissing = 1").replace(
        '"raid0", "raid10", "raid5", "raid6"', '"raid5", "raid6"'
    )
    (tmp_path / "degraded.toml").write_text(text)
    said = pages.invoke(tmp_path, "run", str(tmp_path / "degraded.toml"))
    assert "RAID 5 of 4  3.00 TB   no failure" in said and "RAID 6 of 4  2.00 TB   1 failure" in said
    assert "1 missing" in pages.invoke(tmp_path, "results", "last", "--all")
    pages.invoke(tmp_path, "report", "last", "--output", str(tmp_path / "degraded.html"))


def test_the_table_of_the_page_has_the_loads_of_which_the_headline_speaks():
    records = with_loads(
        {"raid10": {1: (225.0, 225.0), 4: (900.0, 900.0)}, "raid5": {1: (396.0, 396.0), 4: (175.0, 175.0)}}
    )
    shown = page.render(replace(sample_content(), arrays=arrays.rows(records), advice=array_advice.advice(records)))
    assert "sequential read with 1 thread 43 % slower" in shown.replace("\xa0", " ")
    assert re.search(r">900<svg.*?</svg><small>225 with 1 thread</small>", shown, re.DOTALL)
    assert "<small>396 with 1 thread</small>" in shown
