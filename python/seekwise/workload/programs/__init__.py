"""The programs that a use may run; one module and one row each."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from seekwise.workload.program import Program
from seekwise.workload.programs.cat import DD, Cat
from seekwise.workload.programs.copy import Copy
from seekwise.workload.programs.image import ImageConversion
from seekwise.workload.programs.mariadb import MariaDB
from seekwise.workload.programs.postgresql import PostgreSQL
from seekwise.workload.programs.small import Command, Commit, ReadWrite, Save
from seekwise.workload.programs.sqlite import SQLite
from seekwise.workload.programs.start import Start
from seekwise.workload.programs.trees import Backup, Compile, Fetch, Search, Sort, StoreFiles, Unpack
from seekwise.workload.programs.web import Pages

PROGRAMS: dict[str, type[Program]] = {
    program.name: program
    for program in (
        Command, Save, Commit, ReadWrite, Start, SQLite, PostgreSQL, MariaDB, Copy, ImageConversion, Cat, DD, Backup, Search, Sort, Fetch, StoreFiles, Pages, Unpack, Compile,
    )
}  # fmt: skip


def program_named(name: str, parameters: Mapping[str, object]) -> Program:
    """The program of this name with its parameters. Raises ValueError with one sentence when there is none, or a
    parameter is wrong."""
    program = PROGRAMS.get(name)
    if program is None:
        raise ValueError(f"names no program: {name!r}; programs: {', '.join(PROGRAMS)}")
    try:
        return program.model_validate(dict(parameters))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = ", ".join(program.model_fields) or "none"
            raise ValueError(f"has no parameter `{key}` for program {name!r}; it has: {known}") from None
        raise ValueError(f"gives program {name!r} a wrong `{key}`: {first['msg'].lower()}") from None
