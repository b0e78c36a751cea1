"""Results of other tools as records of a run: one module per format, one row in `registry.py`.

    files → source (bytes, text) → format that recognises them → results (one per trial) → build (run and records)

A format says what its tool measured and nothing more: what it does not print is absent from the record, never guessed,
and a note says so. What the user knows (`--given threads=8`) fills in what the tool left out.

Uses: store, workload.
Start: `build.py`; a format: `fio_json.py`.
"""

from seekwise.importing.build import read

__all__ = ["read"]
