from seekwise.number_text import natural, three
from seekwise.report.layout import wrapped


def test_three_digits_have_no_exponent():
    assert [three(each) for each in (7.7e-05, 0.123456, 12.34, 475_123.0)] == ["0.000077", "0.123", "12.3", "475123"]


def test_sizes_are_sorted_as_numbers():
    labels = ["RAID 0 of 4, chunk 128 KiB", "RAID 0 of 4, chunk 64 KiB", "RAID 0 of 16, chunk 8 KiB", "bfq", "chunk 8"]
    assert sorted(labels, key=natural) == [labels[1], labels[0], labels[2], "bfq", "chunk 8"]


def test_a_number_stays_with_its_unit_at_the_end_of_a_line():
    said = "p99 would be 965 ms, 915 times the recorded 1.05 ms, and throughput 34 % lower at 1.89 MB/s."
    for width in range(12, 60):
        lines = wrapped(said, width, then="  ")
        assert " ".join(" ".join(lines).split()) == said and max(map(len, lines)) <= width
        assert not [line for line in lines if line.split()[0].rstrip(",.") in ("ms", "%", "MB/s")]
