"""The questions about arrays, asked of the simulator: a rebuild beside programs, kinds of bitmap, what binds an array, which load a table compares."""

from __future__ import annotations

import io
import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from rich.console import Console

from report.sample import sample_content
from seekwise.cli.doctor import command as doctor
from seekwise.cli.export import command as export
from seekwise.cli.report import command as report
from seekwise.cli.run import command as run
from seekwise.judge import arrays as array_rows
from seekwise.judge import bitmap as bitmaps_judged
from seekwise.judge import rebuild as rebuilds_judged
from seekwise.linux.diskstats import DiskCounters
from seekwise.report import bitmap, rebuild, terminal
from seekwise.settings import array_speed
from seekwise.simulate.simulated import SimulatedBackend
from seekwise.store.record import Record
from seekwise.workload.study import planning, starters
from seekwise.workload.study.study import Study
from settings.machine import machine_path


def records(study: Study) -> list:
    backend = SimulatedBackend()
    plan = planning.make(study, backend.describe(study))
    with backend.session(plan, "r", lambda _: None) as session:
        return list(session.run(list(plan.trials), {}))


def shipped(name: str, **settings: list) -> Study:
    study = starters.open_study(name)[0]
    once = study.design.model_copy(update={"blocks": 1})
    return study.model_copy(update={"settings": {**study.settings, **settings}, "design": once})


@pytest.fixture(scope="module")
def rebuilds() -> list[rebuilds_judged.RebuildRow]:
    return rebuild.rows(records(shipped("rebuild", raid_level=["raid10"], sync_speed_max=[0, 20000, 200000])))


def test_a_lower_limit_makes_a_rebuild_longer_and_programs_quicker(rebuilds: list[rebuilds_judged.RebuildRow]) -> None:
    slow, fast = rebuilds
    assert (slow.limit_kib_s, fast.limit_kib_s) == (20000, 200000)
    assert slow.units.keys() == {"transaction", "start"}
    for unit, each in slow.units.items():
        # Programs hold the quick one up more: its limit is ten times as high.
        assert each.seconds > 1.5 * fast.units[unit].seconds
        assert each.meanwhile_s < fast.units[unit].meanwhile_s
        assert each.without_s is not None and each.without_s <= 1.05 * each.meanwhile_s


def test_a_rebuild_takes_what_its_limit_takes(rebuilds: list[rebuilds_judged.RebuildRow]) -> None:
    # 1 TB at 20,000 KiB/s.
    assert rebuilds[0].units["transaction"].seconds == pytest.approx(1e12 / (20000 * 1024), rel=0.05)


def test_the_answer_names_the_limit_and_how_to_set_it(rebuilds: list[rebuilds_judged.RebuildRow]) -> None:
    said = rebuild.advice(records(shipped("rebuild", raid_level=["raid10"], sync_speed_max=[0, 50000])), ())
    assert said is not None
    assert said.headline.startswith("Limit a rebuild to 50,000 KiB/s on RAID 10 of 4. Without redundancy for 5")
    assert said.set_lines[1] == "echo 50000 | sudo tee /sys/block/md0/md/sync_speed_max"
    assert "sysctl.d" in " ".join(said.caution)


HOUR = 3600.0


def limited(
    survives: int, *, array: str = "RAID 5 of 4", **units: list[tuple[float, float]]
) -> list[rebuilds_judged.RebuildRow]:
    """Rows at 20,000, 50,000 and 200,000 KiB/s: of each unit (hours of the rebuild, times as long as the unit alone)."""
    found = []
    for place, limit in enumerate((20000, 50000, 200000)):
        beside = {
            unit: rebuilds_judged.Beside(HOUR * each[place][0], 0.04, 0.04 * each[place][1])
            for unit, each in units.items()
        }
        found.append(rebuilds_judged.RebuildRow(array, "rebuild", limit, beside, survives))
    return found


STUCK = [(257.0, 2.03), (263.0, 2.08), (267.0, 2.11)]


@pytest.mark.parametrize(
    ("units", "survives", "kind", "limit"),
    [
        # Of an array that survives nothing meanwhile the time counts first, whatever programs pay.
        ({"transaction": [(13.5, 1.2), (5.4, 2.9), (2.7, 20.0)]}, 0, "soonest", 200000),
        ({"start": [(13.5, 7.5), (5.4, 9.6), (2.7, 18.0)]}, 0, "soonest", 200000),
        # A limit that ends as soon costs nothing: the drives give no more.
        ({"transaction": [(13.5, 1.2), (2.8, 2.9), (2.7, 20.0)]}, 0, "soonest", 50000),
        ({"transaction": [(13.5, 1.2), (5.4, 2.9), (2.7, 20.0)]}, 1, "tolerated", 50000),
        # What no limit changes does not decide for what they do change.
        ({"transaction": [(13.5, 2.1), (5.4, 3.5), (2.7, 20.0)], "start": STUCK}, 1, "tolerated", 20000),
        # 3.02 prints as 3, and the model knows it no better.
        ({"transaction": [(30.0, 1.5), (12.0, 3.02), (2.7, 20.0)]}, 1, "tolerated", 50000),
        ({"transaction": [(30.0, 1.5), (12.0, 3.5), (2.7, 20.0)]}, 1, "tolerated", 20000),
        ({"transaction": [(30.0, 5.0), (12.0, 5.2), (2.7, 20.0)]}, 1, "gentlest", 50000),
        ({"start": STUCK}, 0, "none", 200000),
        # No unit came to its end at the highest limit, or at any.
        ({"start": [(13.5, 2.0), (5.4, 2.5), (2.7, float("inf"))]}, 1, "tolerated", 50000),
        ({"start": [(99.0, float("inf"))] * 3}, 0, "none", 200000),
    ],
)
def test_a_limit_is_chosen_by_a_rule(units: dict, survives: int, kind: str, limit: int) -> None:
    chosen = rebuilds_judged.choose(limited(survives, **units))
    assert (chosen.kind, chosen.row.limit_kib_s) == (kind, limit)


def limited_record(limit: int, kib_per_s: float, wait_s: float, repetition: int, level: str = "raid10") -> object:
    """A trial of a rebuild beside starts, as far as the answer needs it."""
    array = {"level": "RAID 10", "members": 4, "layout": "near=2", "chunk_kib": 512, "missing": [0] if limit else [], "bitmap": "none",
             "state": "rebuild" if limit else "clean", "survives_failures": 0 if limit else 1, "capacity_bytes": 36 * 10**12,
             "member_bytes": 18 * 10**12, "rebuild_s": 107_000.0}  # fmt: skip
    phase = SimpleNamespace(
        ios=4, latency_mean_ns=wait_s * 1e9, details={"unit": "start", "resync": {"kib_per_s": kib_per_s}}
    )
    return SimpleNamespace(
        valid=True, role="trial", load={"array": array}, phases=(phase,), repetition=repetition,
        factors={"sync_speed_max": limit, "load": "desktop-read"},
    )  # fmt: skip


NOISY = {
    20000: (17452, 12410, 11238, 19669, 15497),
    50000: (13810, 18108, 21872, 11087, 4596),
    200000: (14250, 18717, 18445, 11688, 8600),
}
WAITS = {0: (4.1, 4.2, 3.9), 20000: (19.0, 20.6, 9.6), 50000: (15.8, 19.3, 29.9), 200000: (19.1, 15.7, 24.5)}


def test_noise_never_makes_a_rebuild_slower_and_a_higher_limit_never_makes_it_longer() -> None:
    """Starts beside a rebuild of 4 × 18 TB: three of them in a trial, whose repetitions differ by far more than the limits."""
    advised = set()
    for drawn in itertools.permutations(range(5), 3):
        mine = [
            limited_record(limit, NOISY[limit][place] if limit else 0, wait, number)
            for limit, waits in WAITS.items()
            for number, (place, wait) in enumerate(zip(drawn, waits, strict=True))
        ]
        rows = rebuilds_judged.rows(mine)  # type: ignore[arg-type]
        hours = [row.units["start"].seconds for row in rows]
        waits_s = [row.units["start"].meanwhile_s for row in rows]
        assert hours == sorted(hours, reverse=True) and waits_s == sorted(waits_s)
        assert rows[-1].units["start"].seconds_range > 0
        advised.add(rebuilds_judged.choose(rows).row.limit_kib_s)
    assert advised == {200000}


def test_hours_without_redundancy_stand_in_the_headline(monkeypatch: pytest.MonkeyPatch) -> None:
    row = limited(0, transaction=[(244.0, 1.5), (97.7, 1.8), (29.7, 20.0)])
    wide = replace(row[-1].units["transaction"], seconds=3600 * 98.0, seconds_range=3600 * 21.0)
    found = [*row[:-1], replace(row[-1], units={**row[-1].units, "start": wide})]
    for each in found[:-1]:
        each.units["start"] = replace(wide, seconds=3600 * 250.0)
    monkeypatch.setattr(rebuild, "rows", lambda _: found)
    said = rebuild.advice([], ())
    assert said is not None
    assert said.headline.startswith(
        "Limit a rebuild to 200,000 KiB/s on RAID 5 of 4. Without redundancy for 29.7 to 98 ± 21 h (RAID 5)."
    )


def test_a_unit_that_never_ended_is_said_to_be_that() -> None:
    found = limited(0, start=[(13.5, 2.0), (5.4, 2.5), (2.7, float("inf"))])
    assert rebuild.table(found).rows[-1][-1] == "none done"
    assert "inf" not in str(rebuild.table(found).rows)


def test_where_no_limit_makes_a_difference_none_is_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild, "rows", lambda _: limited(0, start=STUCK))
    said = rebuild.advice([], ())
    assert said is not None and not said.set_lines and not said.undo_lines
    known = [replace(row, member_kib=976_562_500) for row in limited(0, start=STUCK)]
    monkeypatch.setattr(rebuild, "rows", lambda _: known)
    assert [line.split("/")[-1].split()[0] for line in rebuild.advice([], ()).set_lines] == ["sync_speed_min"] * 2
    assert "ends it within 22 h 36 min, at" in rebuild.advice([], ()).headline
    # 18 TB: more than the drive writes in a day, and more than a day at a limit that is advised.
    known = [replace(row, member_kib=17_578_125_000, alone_s=106_980.0) for row in known]
    assert "ends it within 29 h 43 min, at" in rebuild.advice([], ()).headline
    slow = limited(1, transaction=[(13.5, 1.6), (5.4, 2.6), (2.7, 11.0)], start=STUCK)
    known = [replace(row, member_kib=17_578_125_000, alone_s=106_980.0) for row in slow]
    assert "ends it within 4 days, at" in rebuild.advice([], ()).headline


def test_the_answer_of_three_arrays_and_its_table_stand_on_one_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [
        *limited(0, transaction=[(13.5, 2.1), (5.4, 3.5), (2.7, 20.0)], start=STUCK),
        *limited(1, array="RAID 6 of 4", transaction=[(13.5, 1.6), (5.4, 2.6), (2.7, 11.0)], start=STUCK),
        *limited(0, array="RAID 10 of 4", transaction=[(13.5, 1.0), (5.4, 1.2), (2.7, 3.1)], start=[(13.6, 7.5), (5.4, 9.6), (2.7, 18.0)]),
    ]  # fmt: skip
    arrays = [replace(row, member_kib=976_562_500) for row in arrays]
    monkeypatch.setattr(rebuild, "rows", lambda _: arrays)
    advice = rebuild.advice([], ("simulated: measure before you change a machine",))
    assert advice is not None
    content = replace(sample_content(), advice=advice, table=rebuild.table(arrays), question=None, notes=[])

    def lines(*, everything: bool) -> list[str]:
        console = Console(width=80, file=io.StringIO())
        terminal.print_answer(content, console, everything=everything)
        return console.file.getvalue().splitlines()  # type: ignore[attr-defined]

    shown = lines(everything=False)
    # Around them stand the storage, blank lines and the next command.
    assert len(shown) <= 22 - 4 and max(map(len, shown)) <= 80
    # The limit that is advised of each array; all that were compared behind `--all`.
    assert sum("h" in line and "ms" in line for line in shown) == 3
    assert sum("ms" in line for line in lines(everything=True)) >= 9
    speeds = [line.split()[1] for line in advice.set_lines if line.startswith("echo")]
    assert speeds == ["200000", "50000", "12000"]
    assert [line.rpartition("/")[2].split()[0] for line in advice.set_lines[1:]] == ["sync_speed_max"] * 2 + [
        "sync_speed_min"
    ]


def test_a_check_writes_nothing_and_loses_no_member() -> None:
    found = records(shipped("rebuild", raid_level=["raid5"], sync_speed_max=[50000], sync_action=["check"]))
    assert {record.load["array"]["state"] for record in found} == {"check"}
    assert all(record.load["array"]["survives_failures"] == 1 for record in found)
    (row,) = rebuild.rows(found)
    assert row.what == "check"


def test_bitmaps_are_compared_by_what_they_cost() -> None:
    study = shipped("bitmap", raid_level=["raid10"])
    short = [load.model_copy(update={"runtime": 4.0}) for load in study.workload]
    found = records(study.model_copy(update={"workload": short}))
    rows = bitmap.rows(found)
    assert all(row.writes_s.keys() == {"none", "internal", "internal-1g", "lockless"} for row in rows)
    assert max(row.cost("internal") for row in rows) > 0.05
    said = bitmap.advice(found, ())
    assert said is not None and "--bitmap=" in said.set_lines[0]
    assert "8 KiB" in bitmap.table(rows).caption


def compared(**writes_s: float) -> list[bitmaps_judged.BitmapRow]:
    named = {name.replace("_", "-"): value for name, value in writes_s.items()}
    return [bitmaps_judged.BitmapRow("RAID 5 of 4", "steady, 16 threads", named, 9600.0, 8192)]


@pytest.mark.parametrize(
    ("writes_s", "option"),
    [
        # What is experimental is no advice while another kind costs little.
        ({"none": 400.0, "internal": 150.0, "internal_1g": 350.0, "lockless": 399.0}, "--bitmap=internal --bitmap-chunk=1G"),
        ({"none": 400.0, "internal": 390.0, "internal_1g": 391.0, "lockless": 399.0}, "--bitmap=internal"),
        ({"none": 400.0, "internal": 100.0, "internal_1g": 110.0, "lockless": 399.0}, "--bitmap=lockless"),
        ({"none": 400.0, "internal": 100.0, "internal_1g": 110.0, "lockless": 120.0}, "--bitmap=none"),
    ],
)  # fmt: skip
def test_a_bitmap_is_advised_with_lines_that_mdadm_takes(
    writes_s: dict[str, float], option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bitmap, "rows", lambda _: compared(**writes_s))
    said = bitmap.advice([], ())
    assert said is not None
    commands = [line.partition("   #")[0] for line in said.set_lines]
    assert commands[0] == f"mdadm --create … {option}"
    grown = [line for line in commands if "--grow" in line]
    if option == "--bitmap=lockless":
        assert not grown and "needs Linux 7.0 (6.18 hangs with it), mdadm 4.6" in said.headline
    else:
        # mdadm adds none beside another: the old one goes first.
        assert grown[0].endswith("--bitmap=none") and grown[-1].endswith(option) and said.undo_lines
        assert any("lockless" in text and "6.18" in text for text in said.reasons)
    assert all(len(f"undo: {line}") <= 80 for line in (*said.set_lines, *said.undo_lines))


def test_the_price_of_a_bitmap_is_said_of_the_whole_array_and_of_a_working_set(monkeypatch: pytest.MonkeyPatch) -> None:
    within = compared(none=600.0, internal=520.0)
    whole = replace(compared(none=500.0, internal=3.0)[0], load="whole-array, 1 thread")
    monkeypatch.setattr(bitmap, "rows", lambda _: [*within, whole])
    said = bitmap.advice([], ())
    assert (
        said is not None and "up to 99 % of random writes over the whole array, 13 % in a working set" in said.headline
    )
    # Loads of one's own over half of the array are neither.
    monkeypatch.setattr(bitmap, "rows", lambda _: compared(none=600.0, internal=520.0))
    said = bitmap.advice([], ())
    assert said is not None and "it costs up to 13 % of random writes and saves" in said.headline
    # A run that was ended before none ran knows no price.
    monkeypatch.setattr(bitmap, "rows", lambda _: compared(internal=3.0))
    assert bitmap.advice([], ()) is None


def test_a_slow_start_is_no_price_and_what_is_still_slow_at_the_end_is_a_brink(monkeypatch: pytest.MonkeyPatch) -> None:
    steady = records(shipped("bitmap", raid_level=["raid5"], bitmap=["none"]))
    found = next(record for record in steady if record.factors["threads"] == 16)
    phase = found.phases[0]
    rate = phase.rate_bytes_per_s

    def course(kind: str, slow: int) -> Record:
        windows = tuple((rate / 50 if at < slow else rate / 2, 1e6) for at in range(50))
        kept = sum(share for share, _ in windows) / 50 / rate
        some = replace(phase, windows=windows, ios=round(phase.ios * kept), bytes=round(phase.bytes * kept))
        return replace(found, factors={**found.factors, "bitmap": kind}, phases=(some,))

    (row,) = bitmap.rows([found, course("internal", 45), course("internal-1g", 20)])
    # Half of the rate is left once bits are set; what is not over in three quarters of a run counts as it was.
    assert row.cost("internal-1g") == pytest.approx(0.5, abs=0.01) and row.cost("internal") > 0.9
    assert row.slow["internal-1g"].seconds == pytest.approx(0.4 * phase.elapsed_s)
    monkeypatch.setattr(bitmap, "rows", lambda _: [row])
    said = bitmap.advice([], ())
    assert said is not None and [line for line in said.reasons if "brink" in line and "mdadm's chunks" in line]
    assert f"({row.slow['internal-1g'].seconds:.0f} s after a rest)" in bitmap.table([row]).caption


def test_a_screen_shows_of_each_array_the_load_that_loses_most() -> None:
    calm = replace(compared(none=5.0, internal=4.9)[0], load="now-and-then, 1 thread")
    found = [calm, *compared(none=400.0, internal=150.0), replace(calm, array="RAID 10 of 4")]
    assert bitmap.table(found).brief == (1, 2)


def test_many_writes_a_second_fit_their_column() -> None:
    table = bitmap.table(compared(none=593_405.0, internal=415_652.0))
    assert table.rows[0][2:] == ["593k", "416k (−30 %)"] and "k: thousands" in table.caption


def test_bars_are_drawn_from_the_values_and_not_from_their_text() -> None:
    table = rebuild.table(
        limited(1, transaction=[(30.0, 1.0), (12.0, 9.04), (2.7, math.inf)], start=[(1.0, 500.0)] * 3)
    )
    assert [row[3] for row in table.rows] == ["40 ms (1×)", "362 ms (9×)", "none done"]
    assert [table.cell(row, 3)[1:] for row in range(3)] == [
        (0.04, pytest.approx(100 / 9.04)),
        (0.3616, 100.0),
        (None, 0.0),
    ]
    assert [table.cell(row, 2)[1:] for row in range(3)] == [(None, 0.0)] * 3
    # One figure in all columns: a reader compares within the row.
    kinds = bitmap.table(compared(none=400.0, internal=150.0))
    assert [kinds.cell(0, column)[1:] for column in (2, 3)] == [(400.0, 100.0), (150.0, 37.5)]


def test_random_requests_go_over_half_of_the_smallest_array_and_spindles_give_what_they_can() -> None:
    study = starters.open_study("raid-levels")[0]
    random = study.workload[1].model_copy(update={"operations": ["rand_write"]})
    big = study.system[0].model_copy(update={"drive": "exos_x18", "drives": 8})
    made = records(study.model_copy(update={"workload": [random], "system": [big]}))
    rows = {row.name.partition(",")[0]: row for row in array_rows.rows(made) if not row.is_degraded}
    assert {row.reach_bytes // 10**9 for row in rows.values()} == {36_000}
    said = array_rows.sizes_text(list(rows.values()))
    assert said == "8 KiB requests over 36.0 TB, the drives' log of small writes full"
    # A 7200 rpm disk does some 200 writes a second for good, be they sorted in its cache; RAID 5 and 6 need four and six accesses for each.
    for level, accesses in (("RAID 0", 1), ("RAID 10", 2), ("RAID 5", 4), ("RAID 6", 6)):
        writes_s = rows[f"{level} of 8"].rates_mb_s["rand_write"] * 1e6 / 8192
        assert 60 < accesses * writes_s / 8 < 240, level


def test_a_rebuild_takes_as_long_in_one_study_as_in_the_other() -> None:
    study = starters.open_study("raid-levels")[0]
    array = study.system[0].model_copy(update={"drive": "exos_x18", "chunk_kib": [512], "raid_level": "raid5"})
    one = study.workload[1].model_copy(update={"operations": ["rand_read"], "runtime": 1.0, "threads": [1]})
    levels = records(
        study.model_copy(update={"workload": [one], "system": [array], "settings": {"raid_level": ["raid5"]}})
    )
    asked = shipped("rebuild", raid_level=["raid5"], sync_speed_max=[200000])
    rebuilt = records(
        asked.model_copy(update={"system": [array.model_copy(update={"options": asked.system[0].options})]})
    )
    here = next(row for row in array_rows.with_states(levels) if not row.is_degraded).rebuild_loaded_s
    (there,) = rebuilds_judged.rows(rebuilt)
    assert here == pytest.approx(there.units["transaction"].seconds, rel=0.05)


def test_a_table_compares_one_load() -> None:
    study = starters.open_study("raid-levels")[0]
    one = study.workload[1].model_copy(update={"operations": ["rand_read"], "runtime": 1.0})
    made = records(study.model_copy(update={"workload": [one]}))
    rows = [row for row in array_rows.rows(made) if not row.is_degraded]
    assert len({row.settings["rand_read"] for row in rows}) == 1
    first, last = array_rows.by_load(rows)
    assert [array_rows.threads_text(each["rand_read"]) for each in (first, last)] == ["1", "16"]
    assert array_rows.sizes_text(rows) == "8 KiB requests over 1.00 TB"
    for row in rows:
        assert row.combination_throughputs[first["rand_read"]] < row.combination_throughputs[last["rand_read"]]
        assert row.rates_mb_s["rand_read"] == row.combination_throughputs[last["rand_read"]]


@pytest.mark.parametrize(
    ("machine", "device", "said"), [("md-raid5", "md0", "RAID 5 of 4"), ("lvm-crypt-md", "md0", "RAID 1 of 2")]
)
def test_doctor_says_what_binds_an_array_of_a_captured_machine(machine: str, device: str, said: str) -> None:
    done = CliRunner().invoke(doctor, [f"/dev/{device}", "--root", str(machine_path(machine))])
    assert done.exit_code == 0, done.output
    assert "no faster than one drive when programs" in done.output
    assert said in done.output
    assert "What binds" in done.output


def rate_with(array: dict, model: str, job: dict) -> float:
    return array_speed._rate(array_speed._simulated(model, array, job, "6.17", False), "requests/s")


@pytest.mark.parametrize("level", ["raid1", "raid10"])
def test_a_lockless_bitmap_takes_nothing_from_mirrors(level: str) -> None:
    # linux-raid 2024-10-15, Yu Kuai: 6,893 MiB/s without, 6,734 lockless, 1,786 internal.
    job = {"pattern": "random", "block_bytes": 4096, "read_percent": 0.0, "threads": 16, "region_bytes": 2**30}
    array = {"level": level, "members": 4}
    none, lockless, internal = (
        rate_with({**array, **bitmap}, "kioxia_cm6_r", job)
        for bitmap in ({}, {"bitmap": "lockless"}, {"bitmap": "internal"})
    )
    assert lockless > 0.95 * none
    assert internal < 0.9 * none


def test_one_program_on_several_ssds_is_bound_by_its_processor() -> None:
    job = {**array_speed.LOADS[3][2], "depth": 32}
    array = {"level": "raid5", "members": 3, "chunk_kib": 64}
    seen = array_speed.seen_in(array_speed._simulated("crucial_mx500_1tb", array, job, "6.1", False), job)
    assert array_speed.binds(seen, array, are_alike=True) == "the program's processor"


def test_writes_that_end_inside_a_stripe_say_so_and_are_slower() -> None:
    job, rates, said = array_speed.LOADS[1][2], {}, {}
    for members in (4, 5):
        array = {"level": "raid5", "members": members, "chunk_kib": 64}
        phase = array_speed._simulated("generic_1tb_sata", array, job, "6.1", True)
        rates[members] = array_speed._rate(phase, "MB/s") / (members - 1)
        said[members] = array_speed.binds(array_speed.seen_in(phase, job), array, are_alike=True)
    assert "ends inside a stripe of 192 KiB" in said[4]
    assert "stripe" not in said[5]
    assert rates[5] > 1.5 * rates[4]


RAID5 = {"level": "raid5", "members": 4, "chunk_kib": 64}
RAID0 = {"level": "raid0", "members": 4, "chunk_kib": 4}


@pytest.mark.parametrize(
    ("seen", "array", "said"),
    [
        (array_speed.Seen({"a": 0.3, "b": 0.3}, 0.97, 0.1, 32, 65536, 1.0), RAID5, "md's one thread"),
        (array_speed.Seen({"a": 0.95, "b": 0.96}, 0.1, 0.1, 32, 4096, 1.0), RAID5, "reads and writes data and parity"),
        (array_speed.Seen({"sda": 0.99, "sdb": 0.2}, 0.1, 0.1, 8, 65536, 0.0), RAID5, "sda is busy 99 % of the time"),
        (array_speed.Seen({"a": 0.3, "b": 0.3}, 0.0, 0.98, 1, 524288, 0.0), RAID0, "cut into 128 pieces"),
        (array_speed.Seen({"a": 0.2, "b": 0.2}, 0.0, 0.1, 1, 4096, 0.0), RAID5, "one drive works and the others wait"),
        # Drives with a request each are busy and not full; pieces that are cut leave at the end.
        (array_speed.Seen({"a": 1.0, "b": 1.0}, 0.0, 0.95, 32, 4096, 0.0), RAID5, "the program's processor"),
        (array_speed.Seen({"a": 0.1, "b": 0.1}, 0.0, 0.8, 1, 2**20, 0.0), RAID0, "cut into 256 pieces"),
    ],
)
def test_what_binds_is_read_off_who_was_busy(seen: array_speed.Seen, array: dict, said: str) -> None:
    assert said in array_speed.binds(seen, array)


def test_counters_of_an_array_and_its_members_say_who_was_busy() -> None:
    moved = {
        "md0": DiskCounters(reads=1000, read_bytes=4096000, read_ms=9000),
        "sda": DiskCounters(reads=500, busy_ms=9500),
        "sdb": DiskCounters(reads=500, busy_ms=1000),
    }
    seen = array_speed.counted("md0", ["sda", "sdb"], moved, 0.5, 10.0)
    assert seen is not None
    assert seen.members == {"sda": 0.95, "sdb": 0.1}
    assert (seen.at_once, seen.request_bytes, seen.thread, seen.write_share) == (0.9, 4096, 0.05, 0)
    assert array_speed.counted("md1", ["sda"], moved, 0.0, 10.0) is None


def test_values_of_the_command_line_stand_in_the_study_of_the_run(tmp_path) -> None:
    db = ["--db", str(tmp_path / "r.db")]
    vary = ["--vary", "raid_level=raid10", "--vary", "sync_speed_max=0,50000", "--vary", "drives=6"]
    done = CliRunner().invoke(run, ["rebuild", *vary, *db])
    assert done.exit_code == 0, done.output
    assert "RAID 10 of 6" in done.output
    assert max(len(line) for line in done.stdout.splitlines() if not line.startswith("next:")) <= 80
    page = tmp_path / "page.html"
    assert CliRunner().invoke(report, ["last", *db, "--output", str(page)]).exit_code == 0
    assert "RAID 10 of 6" in page.read_text() and "With transactions" in page.read_text()
    written = CliRunner().invoke(export, ["last", "--format", "study", *db]).stdout
    (tmp_path / "s.toml").write_text(written)
    assert starters.open_study(str(tmp_path / "s.toml"))[0].settings == {
        "raid_level": ["raid10"], "sync_speed_max": [0, 50000], "drives": [6],
    }  # fmt: skip
