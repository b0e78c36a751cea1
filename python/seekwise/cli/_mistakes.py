"""What is wrong with a command line, and what was probably meant: click's errors in our words."""

from __future__ import annotations

from collections.abc import Sequence

import click

from seekwise import suggestion


def explained(error: click.ClickException, typed: Sequence[str]) -> tuple[str, str | None]:
    """(message, hint). `typed`: the words of the command line."""
    context = getattr(error, "ctx", None)
    otherwise = help_line(context, typed)
    if isinstance(error, click.NoSuchOption):
        known = [word for param in context.command.params for word in param.opts] if context is not None else []
        return f"no such option '{error.option_name}'", suggestion.hint(error.option_name, known, otherwise)
    # A class of its own since click 8.4; before, such a command was met in `Kinds.get_command` alone.
    name = getattr(error, "command_name", None)
    if name is not None and context is not None and isinstance(context.command, click.Group):
        known = context.command.list_commands(context)
        return f"no command is called `{name}`", suggestion.hint(
            name, known, f"there {'are' if len(known) > 1 else 'is'} {', '.join(known)}"
        )
    message = error.format_message().rstrip(".")
    message = message[:1].lower() + message[1:].replace("valid integer range", "valid integer")
    message = message.replace("valid float range", "valid number")
    kind = getattr(getattr(error, "param", None), "type", None)
    if isinstance(kind, click.Choice):
        choices = [str(choice) for choice in kind.choices]
        for word in typed:
            given = word.partition("=")[2] or word
            if given not in choices and (meant := suggestion.nearest(given, choices)):
                return message, f"did you mean `{meant}`?"
    return message, otherwise


def help_line(context: click.Context | None, typed: Sequence[str]) -> str:
    """The hint where nothing better is known: `seekwise trace show --help`, whatever the program was started as."""
    names: list[str] = []
    while context is not None and context.parent is not None:
        names.insert(0, context.info_name or "")
        context = context.parent
    if not names and typed and not typed[0].startswith("-"):
        names = [typed[0]]
    return f"`{' '.join(['seekwise', *names])} --help` shows what it takes"
