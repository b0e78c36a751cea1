"""This test will group entries by a key and look at the order."""

from seekwise.grouping import grouped


def test_keys_and_their_values_stand_in_the_order_in_which_they_come():
    found = grouped((len(word), word) for word in ("noop", "cfq", "none", "bfq"))
    assert list(found.items()) == [(4, ["noop", "none"]), (3, ["cfq", "bfq"])]
