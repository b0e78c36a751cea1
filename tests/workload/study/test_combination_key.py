"""Keys of combinations: names with spaces stay whole."""

import pytest

from seekwise.workload.study import combination_key


def test_values_with_spaces_and_commas_stay_whole() -> None:
    key = "rand_read system=ten cores, four drives load=readers next to writers threads=4"
    assert combination_key.parse(key) == (
        "rand_read",
        {"system": "ten cores, four drives", "load": "readers next to writers", "threads": "4"},
    )
    assert combination_key.without(key, "system", "threads") == "rand_read load=readers next to writers"


@pytest.mark.parametrize("key", ["", "seq_read", "system=a b threads=1", "seq_read disk=vda", "mixed use=my use"])
def test_a_key_is_written_as_it_was_read(key: str) -> None:
    assert combination_key.text(*combination_key.parse(key)) == key
