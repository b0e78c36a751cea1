"""What does not fit on the virtual drives is refused before the first trial, as by the simulator."""

import pytest

from seekwise.errors import UsageError
from seekwise.simulate.protocol import Options
from seekwise_proof.testbed.backend import LabBackend
from simulate.test_room import checked


def test_regions_of_all_threads_have_to_fit_on_each_array_of_a_sweep():
    checked(LabBackend(Options()))
    with pytest.raises(UsageError, match="4 × 75.16 GB of load load do not fit on the 250.1 GB of system one"):
        checked(LabBackend(Options()), size="70g")
    with pytest.raises(UsageError, match="raid_level = raid1"):
        checked(LabBackend(Options()), size="70g", settings='drives = [2]\nraid_level = ["raid0", "raid1"]')
