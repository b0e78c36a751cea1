"""Manual pages and shell completions, from the commands themselves.

    python packaging/pages.py OUT

writes OUT/man/*.1 and OUT/completions/{bash,zsh,fish}. Nothing here is written by hand that a command knows: names, summaries, options
and defaults come from click, exit statuses from `errors.Exit`, the environment from `environment.VARIABLES`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click.shell_completion import FishComplete, ZshComplete

from seekwise.cli.main import cli, own_commands
from seekwise.environment import STATUS_MEANINGS, VARIABLES
from seekwise.release import release

BASH = """\
# Completion of seekwise for bash: the program itself knows what comes next.
_seekwise_completion() {
    local IFS=$'\\n' response
    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD _SEEKWISE_COMPLETE=bash_complete "$1")
    local completion
    for completion in $response; do
        local type=${completion%%,*} value=${completion#*,}
        case $type in
            dir) COMPREPLY=(); compopt -o dirnames ;;
            file) COMPREPLY=(); compopt -o default ;;
            plain) COMPREPLY+=("$value") ;;
        esac
    done
}
complete -o nosort -F _seekwise_completion seekwise
"""


def escaped(text: str) -> str:
    """Text for roff: nothing in it is a request or an escape, hyphens stay hyphens."""
    lines = []
    for line in text.replace("\\", "\\e").replace("-", "\\-").splitlines():
        lines.append(f"\\&{line}" if line[:1] in (".", "'") else line)
    return "\n".join(lines)


def page(command: click.Command, path: tuple[str, ...]) -> str:
    """The manual page of one command."""
    context = click.Context(command, info_name=" ".join(path))
    name = "-".join(path)
    # Debian's form: no date, so that a rebuild gives the same bytes.
    parts = [f'.TH {name.upper()} 1 "" "seekwise {release()}" "User Commands"', ".SH NAME"]
    parts.append(f"{escaped(name)} \\- {escaped(command.get_short_help_str(100).rstrip('.'))}")
    parts += [".SH SYNOPSIS", f".B {escaped(' '.join(path))}", escaped(" ".join(command.collect_usage_pieces(context)))]
    parts += [".SH DESCRIPTION", paragraphs(command.help or "")]
    if isinstance(command, click.Group):
        parts.append(".SH COMMANDS")
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            if found is not None and not found.hidden:
                parts += [".TP", f".B {escaped(sub)}", escaped(found.get_short_help_str(300))]
    options = [row for parameter in command.get_params(context) if (row := parameter.get_help_record(context))]
    if options:
        parts.append(".SH OPTIONS")
        for words, meaning in options:
            parts += [".TP", f".B {escaped(words)}", escaped(meaning)]
    parts.append(".SH EXIT STATUS")
    for status, meaning in STATUS_MEANINGS.items():
        parts += [".TP", f".B {int(status)}", escaped(meaning)]
    parts.append(".SH ENVIRONMENT")
    for variable, meaning in VARIABLES.items():
        parts += [".TP", f".B {variable}", escaped(meaning)]
    if path != ("seekwise",):
        parts += [".SH SEE ALSO", ".BR seekwise (1)"]
    return "\n".join(parts) + "\n"


def paragraphs(text: str) -> str:
    """Paragraphs of plain text as roff."""
    blocks = [" ".join(block.split()) for block in text.split("\n\n") if block.strip()]
    return "\n.PP\n".join(escaped(block) for block in blocks)


def write(out: Path) -> list[Path]:
    """Every page and completion of the product's own commands; returns the files."""
    man, completions = out / "man", out / "completions"
    made: dict[Path, str] = {man / "seekwise.1": page(cli, ("seekwise",))}
    context = click.Context(cli)
    for name in sorted(own_commands()):
        command = cli.get_command(context, name)
        if command is not None and not command.hidden:
            made[man / f"seekwise-{name}.1"] = page(command, ("seekwise", name))
    made[completions / "bash"] = BASH
    for shell, kind in (("zsh", ZshComplete), ("fish", FishComplete)):
        made[completions / shell] = kind(cli, {}, "seekwise", "_SEEKWISE_COMPLETE").source()
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return list(made)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
