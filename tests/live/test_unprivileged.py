"""`tune` without root: says at once what it cannot do, what is known anyway, and the line to run."""

import pytest

from seekwise.cli import _tune_unprivileged
from seekwise.errors import Exit, MissingError


class Device:
    kind, rotational, scheduler = "disk", True, "none"
    schedulers_offered = ("none", "bfq")


class Target:
    path = "/srv"
    leaves = (Device(),)
    lines = ("/srv on sda",)


class Request:
    target = "/srv"


def test_it_ends_with_the_one_line_to_run_and_names_what_root_would_compare(capsys):
    with pytest.raises(MissingError) as error:
        _tune_unprivileged.answer(Request(), Target())
    assert error.value.exit_status == Exit.MISSING
    assert "sudo" in error.value.hint and "tune /srv" in error.value.hint
    said = capsys.readouterr()
    assert "none, bfq" in said.out and "generic_1tb_sata" in said.out
