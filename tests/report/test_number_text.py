from seekwise.report.number_text import natural


def test_sizes_are_sorted_as_numbers():
    labels = ["RAID 0 of 4, chunk 128 KiB", "RAID 0 of 4, chunk 64 KiB", "RAID 0 of 16, chunk 8 KiB", "bfq", "chunk 8"]
    assert sorted(labels, key=natural) == [labels[1], labels[0], labels[2], "bfq", "chunk 8"]
