"""What commands of other distributions are made of: options as ours have them, progress, documents, a study carried out."""

from seekwise.cli._job import carried_out, planned
from seekwise.cli._options import as_json, budget, common, seed
from seekwise.cli._output import progress
from seekwise.cli._shown import echo_json

__all__ = ["as_json", "budget", "carried_out", "common", "echo_json", "planned", "progress", "seed"]
