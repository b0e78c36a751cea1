"""Man pages in man(7), made from the commands: help text, options, exit statuses. One source, two outputs."""

from __future__ import annotations

import re

import click

SECTION = "8"
EXIT_STATUS = (
    ("0", "done"),
    ("1", "the operation failed"),
    ("2", "wrong usage or an invalid study"),
    ("3", "refused for safety"),
    ("4", "a requirement is missing: a program, a kernel feature, a privilege"),
    ("5", "a check was not met: drift, a finding, a rollback"),
    ("130", "interrupted"),
)


def pages(group: click.Group, version: str) -> dict[str, str]:
    """{file name: text} of `seekwise.8` and of one page per command."""
    context = click.Context(group, info_name="seekwise")
    found = {f"seekwise.{SECTION}": _page("seekwise", group, context, version, _commands(group, context))}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        below = click.Context(command, parent=context, info_name=name)
        more = _commands(command, below) if isinstance(command, click.Group) else ""
        found[f"seekwise-{name}.{SECTION}"] = _page(f"seekwise {name}", command, below, version, more)
    return found


def _page(name: str, command: click.Command, context: click.Context, version: str, more: str) -> str:
    title = name.replace(" ", "-")
    help_text = command.help or ""
    summary = command.get_short_help_str(limit=200).rstrip(".")
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [
        f'.TH "{title.upper()}" "{SECTION}" "" "seekwise {version}" "System administration"',
        ".SH NAME",
        f"{_text(title)} \\- {_text(summary)}",
        ".SH SYNOPSIS",
        f".B {_text(name)}\n{_text(usage)}",
        ".SH DESCRIPTION",
        _paragraphs(help_text),
    ]
    options = [
        record
        for parameter in command.get_params(context)
        if (record := parameter.get_help_record(context)) is not None
    ]
    if options:
        parts.append(".SH OPTIONS")
        parts += [f".TP\n\\fB{_text(left)}\\fR\n{_text(right)}" for left, right in options]
    if more:
        parts.append(more)
    parts.append(".SH EXIT STATUS")
    parts += [f".TP\n.B {status}\n{_text(meaning)}" for status, meaning in EXIT_STATUS]
    parts.append(".SH SEE ALSO")
    parts.append("\\fBseekwise\\fR(8), \\fBfio\\fR(1), \\fBmdadm\\fR(8), \\fBudev\\fR(7)")
    return "\n".join(parts) + "\n"


def _commands(group: click.Group, context: click.Context) -> str:
    rows = [".SH COMMANDS"]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None and not command.hidden:
            rows.append(f".TP\n\\fB{_text(name)}\\fR\n{_text(command.get_short_help_str(limit=200))}")
    return "\n".join(rows)


def _paragraphs(text: str) -> str:
    return "\n.PP\n".join(_text(" ".join(part.split())) for part in re.split(r"\n\s*\n", text.strip()))


def _text(text: str) -> str:
    """Nothing in a text can start a macro or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"(?m)^([.'])", r"\\&\1", text)
    return "".join(each if each.isascii() else f"\\[u{ord(each):04X}]" for each in text)
