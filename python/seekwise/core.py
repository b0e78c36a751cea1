"""The compiled core's functions that other distributions use. Structured data crosses as JSON text; `_core.pyi` says
what each takes and gives."""

from seekwise._core import describe_cell, drive_model, measure_drives, model_version, simulate_cells

__all__ = ["describe_cell", "drive_model", "measure_drives", "model_version", "simulate_cells"]
