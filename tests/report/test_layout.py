"""Tables of answers: in 80 columns a value that is too wide is parted before its unit, never within a word."""

from __future__ import annotations

from seekwise.report.layout import WIDTH, columns, joined

HEADS = ("Array", "KiB/s", "Rebuild", "Transaction before", "during", "Rebuild", "Start before", "during")
ROW = ("RAID 10 of 4", "200,000", "13 h 33 min", "46.7 ms", "97.5 ms", "13 h 39 min", "12.7 s", "26.4 s")


def test_eight_columns_fit_and_no_word_is_cut():
    row = [joined(each) for each in ROW]
    lines = [line for rows in columns(HEADS, [row], WIDTH, 1) for line in rows]
    assert max(map(len, lines)) <= WIDTH
    words = {word for each in (*HEADS, *ROW) for word in each.split()}
    assert {word for line in lines for word in line.split()} == words
    assert not any(line.lstrip()[:1] == "n" for line in lines)


def test_a_long_name_of_a_setting_gives_way_before_other_columns():
    heads = ["Use", "Figure", "server-with-one-drive", "server-with-three-drives", "Difference"]
    use, words = "random write, iodepth 8", "not measured long enough: 0.42 to 0.53 times"
    (head, row) = columns(heads, [[use, "p99 latency", "2.26 ms", "1.03 ms", words]], 80)
    assert len(row) <= 4, row
    assert all(len(line) <= 80 for line in (*head, *row))
    assert "".join("".join(line.split("  ")[2:]) for line in head).count("server-with-") == 2, "parted at a hyphen"


def test_a_setting_is_parted_from_its_value_before_either_is():
    heads = ["Use", "Figure", "read_ahead_kb=128", "read_ahead_kb=4096", "Difference"]
    row = ["sequential read", "p99 latency", "12 ms", "3.82 ms", "3.1 times shorter (3.1 to 3.2)"]
    head, _ = columns(heads, [row], 80)
    assert [word for line in head for word in line.split()] == [
        *("Use", "Figure", "read_ahead_kb=", "read_ahead_kb=", "Difference", "128", "4096")
    ]  # fmt: skip
