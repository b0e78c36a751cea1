"""What the environment decides, and what exit statuses mean: one table each, from which `--help` pages and manuals are
made."""

from __future__ import annotations

from seekwise.errors import Exit

VARIABLES = {
    "SEEKWISE_STATE": "Folder of the journal of changed settings and of what is applied, not of results (SEEKWISE_DB); default: /var/lib/seekwise as root, "
    "else $XDG_STATE_HOME/seekwise or ~/.local/state/seekwise.",
    "SEEKWISE_DB": "Results database to use where --db is not given; default: $XDG_DATA_HOME/seekwise/records.db.",
    "XDG_DATA_HOME": "Base of the results database; default: ~/.local/share.",
    "XDG_STATE_HOME": "Base of the state folder of users other than root; default: ~/.local/state.",
    "SEEKWISE_LAB": "Folder of the kernels and guests of `seekwise lab`; default: $XDG_CACHE_HOME/seekwise/lab.",
    "SEEKWISE_DEBIAN": "Mirror of Debian that `seekwise lab` fetches from, in place of the one that apt uses.",
    "XDG_CACHE_HOME": "Base of what `seekwise lab` keeps; default: ~/.cache.",
    "SEEKWISE_BUSY": "Set to anything: a run is evaluated although other programs used most of the processors or of the drive meanwhile.",
    "NO_COLOR": "Set to anything: no colour.",
}
"""{name: meaning}; a test compares the names with those that the program reads."""

STATUS_MEANINGS = {
    Exit.DONE: "Done.",
    Exit.FAILED: "The operation failed.",
    Exit.USAGE: "Wrong usage, or a study, trace or result that cannot be read.",
    Exit.REFUSED: "Refused for safety, before anything was touched.",
    Exit.MISSING: "A requirement is missing: a program, a kernel feature, a privilege.",
    Exit.NOT_MET: "A check ran and was not met (`verify`, `compare --fail-if`, `doctor`, `design`, `status`, `apply --guard`, `apply --confirm`).",
    Exit.INTERRUPTED: "Interrupted; settings are as before.",
}
