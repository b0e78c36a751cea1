"""Shell completions, as click writes them for each shell."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

VARIABLE = "_SEEKWISE_COMPLETE"

FILES = {
    "usr/share/bash-completion/completions/seekwise": BashComplete,
    "usr/share/zsh/site-functions/_seekwise": ZshComplete,
    "usr/share/fish/vendor_completions.d/seekwise.fish": FishComplete,
}


def files(group: click.Group) -> dict[str, str]:
    """{path below the root: text}. The version of bash is asked when completing, not when installing."""
    found = {}
    for path, shell in FILES.items():
        complete = shell(group, {}, "seekwise", VARIABLE)
        found[path] = complete.source_template % complete.source_vars() + "\n"
    return found
