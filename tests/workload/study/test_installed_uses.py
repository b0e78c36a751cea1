"""Which uses this machine can measure."""

import pytest

from seekwise.errors import MissingError
from seekwise.workload.study import uses

FIO_MISSING = MissingError("fio is not installed", hint="sudo apt-get install fio")


def test_without_fio_the_uses_of_programs_are_left():
    left, said = uses.installed(uses.chosen(None), named=False, without_fio=FIO_MISSING)
    assert len(left) >= 10 and not uses.needs_fio(left)
    assert "virtual-machines is left out: fio is not installed" in said


def test_a_use_that_needs_fio_and_was_asked_for_is_refused_without_it():
    with pytest.raises(MissingError, match="fio is not installed"):
        uses.installed(uses.chosen("limits"), named=True, without_fio=FIO_MISSING)
