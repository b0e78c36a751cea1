"""This test will measure drive models whose parameters the prober does not know."""

import json
import math
import re

import pytest

from probe.probed_model import ProbedModel
from seekwise import _core
from seekwise.document import printed
from seekwise.measure.probe import measure
from seekwise.measure.probe.characterize import characterize, lines

HIDDEN = {
    "wd2500ys": {"rpm": 7187.0, "cache_segments": 11.0, "read_ahead_kib": 300.0},
    "st31000340sv": {"rpm": 6842.0, "cache_segments": 13.0, "read_ahead_kib": 444.0},
    "ultrastar_hc550": {"rpm": 5391.0, "cache_segments": 9.0},
}


def drive(name):
    return ProbedModel(name, **HIDDEN[name])


def turn(name):
    return 60e3 / HIDDEN[name]["rpm"]


def parameter(name, key):
    stated = HIDDEN[name].get(key)
    return stated if stated is not None else json.loads(_core.drive_model(name))["parameters"][key]["value"]


@pytest.mark.parametrize("name", HIDDEN)
def test_the_turn_is_found_within_a_thousandth(name):
    assert measure.turn_ms(drive(name)).value == pytest.approx(turn(name), rel=1e-3)


def test_a_drive_without_a_spindle_is_not_given_one():
    found = measure.turn_ms(ProbedModel("samsung_850_evo"))
    assert found.value is None
    assert "nothing turns" in found.why


@pytest.mark.parametrize("name", HIDDEN)
def test_segments_and_read_ahead_are_found(name):
    assert measure.cache_segments(drive(name), turn(name)).value == parameter(name, "cache_segments")
    found = measure.read_ahead_sectors(drive(name), turn(name)).value
    assert found == pytest.approx(parameter(name, "read_ahead_kib") * 2, rel=0.05)


@pytest.mark.parametrize("name", ["wd2500ys", "ultrastar_hc550"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_the_seek_curve_is_found_within_a_twentieth(name, part):
    tracks = part * parameter(name, "tracks_per_surface")
    if tracks <= parameter(name, "seek_d0_tracks"):
        true = parameter(name, "seek_a_ms") + parameter(name, "seek_b_ms_per_sqrt_track") * math.sqrt(tracks)
    else:
        true = parameter(name, "seek_c_ms") + parameter(name, "seek_e_ms_per_track") * tracks
    found = measure.seek_ms(drive(name), part, turn(name), measure.zone_rates(drive(name)))
    assert found.value == pytest.approx(true, rel=0.05)


@pytest.mark.parametrize("name", HIDDEN)
def test_the_rate_at_the_edge_is_that_of_the_tracks_there(name):
    part, figure = measure.zone_rates(drive(name))[0]
    sectors = parameter(name, "spt_outer") * parameter(name, "sector_bytes_physical")
    true = sectors / (turn(name) * 1e3) / (1 + parameter(name, "track_skew_deg") / 360)
    assert part == 0
    assert figure.value == pytest.approx(true, rel=0.02)


def test_latency_of_a_solid_state_drive_repeats():
    fresh = measure.latency_us(ProbedModel("samsung_850_evo"), 8, 1)
    again = measure.latency_us(ProbedModel("samsung_850_evo"), 8, 1, seed=17)
    assert fresh.value == pytest.approx(again.value, rel=0.05)
    assert fresh.low <= fresh.value <= fresh.high


def test_the_document_says_what_was_seen_and_what_not():
    found = characterize(ProbedModel("samsung_850_evo"))
    document = printed(found)
    assert document["rotational"] is False
    assert document["seek"] == []
    assert any("rotation" in what for what in document["unseen"])
    assert any("write cache" in what for what in document["unseen"])
    deep = {entry["depth"]: entry["rate"]["value"] for entry in document["iops"]}
    assert deep[32] > 4 * deep[1]
    said = lines(found)
    assert "Not seen:" in said
    rates = [line for line in said if line.startswith("rate ")]
    assert rates and all(re.search(r" \d[\d,.]* IOPS", line) for line in rates)
    latencies = [line for line in said if line.startswith("latency ")]
    assert latencies and all(" µs" in line for line in latencies)
    shown = re.findall(r"\d[\d,]*\.?\d*", " ".join(rates + latencies))
    assert all(len(each.replace(",", "").replace(".", "").strip("0")) <= 3 for each in shown), shown


def test_what_was_measured_and_cannot_be_is_said():
    from seekwise.measure.probe import characterize
    from seekwise.measure.probe.measure import Estimate

    def found(rate_mb_s, iops, latency_us):
        def figure(value, unit):
            return Estimate(value, None, None, unit)

        return characterize.Characterization(
            10**9, False, Estimate.unseen("ms", "no rotation"), [characterize.Zone(0.0, figure(rate_mb_s, "MB/s"))],
            latency=[characterize.Latency(4, 1, figure(latency_us, "µs"))], iops=[characterize.Iops(1, figure(iops, "1/s"))],
        )  # fmt: skip

    assert characterize.doubts(found(550, 9000, 110), "sata") == ()
    (over,) = characterize.doubts(found(2000, 9000, 110), "sata")
    assert "2,000 MB/s are above what the bus carries (SATA 6 Gb/s)" in over
    assert characterize.doubts(found(2000, 9000, 110), "nvme") == ()
    (little,) = characterize.doubts(found(550, 90000, 110), "sata")
    assert "Little's law" in little and "at depth 1" in little
    assert "partition" in characterize.doubts(found(550, 9000, 110), "sata", is_partition=True)[0]
