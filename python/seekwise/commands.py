"""What commands of other distributions are made of: options as ours have them, progress, documents, a study carried
out."""

from seekwise.cli._job import carried_out, planned
from seekwise.cli._options import Share, as_json, budget, common, seed
from seekwise.cli._output import progress
from seekwise.cli._shown import echo_json
from seekwise.cli._shown import out as console

__all__ = ["Share", "as_json", "budget", "carried_out", "common", "console", "echo_json", "planned", "progress", "seed"]
