"""cp: reads files that are not in memory and writes copies of them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from seekwise.workload.program import Program


class Copy(Program):
    name = "copy"
    title = "copies large files with cp, the sources not in memory"
    unit = "file"
    writes = True

    file_mib: Annotated[int, Field(ge=1, le=4096)] = 256
    """Size of a file."""
