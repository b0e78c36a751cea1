"""Which storage carries a recorded load."""

from seekwise.judge.predicted import Recorded, WhatIfRow, carries


def test_storage_that_does_a_third_with_waits_of_half_a_minute_does_not_carry_the_load() -> None:
    load = Recorded(2e6, 9e6, 1e8, 920.0, 60.0, 0.3)

    def row(iops: float, p99_ns: int) -> WhatIfRow:
        return WhatIfRow("exos_x18", "foreground", 10**6, p99_ns, 1e6, 1e8, iops, 190.0, 54_000)

    assert not carries(row(285.0, 32_900_000_000), load)
    # Most requests wait for earlier ones: the same work takes longer, and that is an answer.
    assert carries(row(285.0, 30_000_000), load) and carries(row(900.0, 32_900_000_000), load)
