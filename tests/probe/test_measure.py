"""This test will measure drive models whose parameters the prober does not know."""

import pytest

from seekwise.probe import measure
from seekwise.probe.drives import ModelDrive

HIDDEN = {
    "wd2500ys": {},
    "st31000340sv": {"rpm": 6842.0, "cache_segments": 11.0, "read_ahead_kib": 300.0},
    "ultrastar_hc550": {"rpm": 5391.0, "cache_segments": 7.0},
}


def drive(name):
    return ModelDrive(name, **HIDDEN[name])


RPM = {"wd2500ys": 7200.0, "st31000340sv": 6842.0, "ultrastar_hc550": 5391.0}


@pytest.mark.parametrize("name", HIDDEN)
def test_the_turn_is_found_within_a_thousandth(name):
    found = measure.turn_ms(drive(name))
    assert found.value == pytest.approx(60e3 / RPM[name], rel=1e-3)
    assert found.low <= 60e3 / RPM[name] <= found.high or found.value == pytest.approx(60e3 / RPM[name], rel=1e-5)


def test_a_drive_without_a_spindle_is_not_given_one():
    found = measure.turn_ms(ModelDrive("samsung_850_evo"))
    assert found.value is None
    assert "nothing turns" in found.why


def test_the_number_of_segments_is_found():
    turn = 60e3 / RPM["st31000340sv"]
    assert measure.cache_segments(drive("st31000340sv"), turn).value == pytest.approx(11, abs=1)


def test_the_read_ahead_is_found():
    turn = 60e3 / RPM["st31000340sv"]
    assert measure.read_ahead_sectors(drive("st31000340sv"), turn).value == pytest.approx(600, rel=0.1)


def test_latency_of_a_solid_state_drive_is_that_of_its_model():
    fresh = measure.latency_us(ModelDrive("samsung_850_evo"), 8, 1)
    again = measure.latency_us(ModelDrive("samsung_850_evo"), 8, 1, seed=17)
    assert fresh.value == pytest.approx(again.value, rel=0.05)
    assert fresh.low <= fresh.value <= fresh.high
