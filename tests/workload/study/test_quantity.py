"""Sizes and times as people write them."""

import pytest

from seekwise.workload.study.quantity import bytes_text, capacity_text, parse_bytes, parse_seconds, size_word, time_text


@pytest.mark.parametrize(
    ("text", "count"),
    [("4k", 4096), ("4K", 4096), ("4KiB", 4096), ("64m", 67108864), ("1g", 2**30), (512, 512), ("1.5k", 1536)],
)
def test_sizes_count_in_powers_of_two(text, count):
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "4x", "-4k", "k", "4 k b", True])
def test_a_size_that_is_none_is_refused_with_what_is_allowed(text):
    with pytest.raises(ValueError, match="must be a size such as 4k"):
        parse_bytes(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("700ms", 0.7), ("30s", 30), ("5m", 300), ("1h", 3600), (2, 2), ("90", 90)]
)
def test_times_have_units_and_a_bare_number_is_seconds(text, seconds):
    assert parse_seconds(text) == pytest.approx(seconds)


def test_texts_name_the_unit_that_they_divided_by():
    assert (bytes_text(4096), bytes_text(3 * 2**29), bytes_text(100)) == ("4 KiB", "1.5 GiB", "100 B")
    shown = [capacity_text(int(each)) for each in (64e9, 250.06e9, 999.99e9, 4.0008e12, 72.0008e12, 720e12)]
    assert shown == ["64 GB", "250 GB", "1.00 TB", "4.00 TB", "72.0 TB", "720 TB"]
    assert (size_word(20000 * 1024), size_word(4096), size_word(512)) == ("20000k", "4k", "512")
    assert (time_text(0.5), time_text(45), time_text(125), time_text(11400)) == (
        "0.5 s",
        "45 s",
        "2 min 5 s",
        "3 h 10 min",
    )
