"""`seekwise config`: the defaults that a user keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import click

from seekwise import config, suggestion
from seekwise.cli import _options, _shown
from seekwise.errors import UsageError


@dataclass(frozen=True)
class Config:
    """`config --json`."""

    SCHEMA: ClassVar = "seekwise.config/1"

    file: str
    settings: dict[str, object]


@click.group("config", invoke_without_command=True)
@_options.as_json()
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Show, set or remove your defaults.

    Colour, results database, and options of commands.

    Without a subcommand, print the file and what it says. `seekwise config set tune.budget 5m` makes 5 minutes the default of
    `seekwise tune --budget`; `seekwise config set colour never` switches colour off.
    """
    if ctx.invoked_subcommand is not None:
        return
    found = config.load()
    if as_json:
        _shown.echo_json(Config(str(config.path()), found))
        return
    click.echo(config.path() if found else f"{config.path()} (not there: no defaults are set)")
    for name, value in sorted(found.items()):
        if isinstance(value, dict):
            for key, each in sorted(value.items()):
                click.echo(f"{name}.{key} = {_text(each)}")
        else:
            click.echo(f"{name} = {_text(value)}")


@command.command("set")
@click.argument("name")
@click.argument("value", nargs=-1, required=True)
def set_(name: str, value: tuple[str, ...]) -> None:
    """Make VALUE the default of NAME.

    NAME is `colour`, `db`, or COMMAND.OPTION. An option that may be repeated takes several VALUEs.
    """
    found = config.load()
    section, dot, key = name.partition(".")
    if not dot:
        if len(value) != 1:
            raise UsageError(f"`{name}` takes one value, not {len(value)}")
        config.check_general(name, value[0])
        found[name] = value[0]
    else:
        parameter = _parameter(section, key)
        found.setdefault(section, {})[key] = _checked(name, parameter, value)  # type: ignore[index]
    config.save(found)
    click.echo(f"{name} = {' '.join(value)}")


@command.command("unset")
@click.argument("name")
def unset(name: str) -> None:
    """Remove the default of NAME."""
    found = config.load()
    section, dot, key = name.partition(".")
    table = found.get(section) if dot else found
    if not isinstance(table, dict) or (key if dot else section) not in table:
        raise UsageError(f"`{name}` is not set", hint="`seekwise config` prints what is")
    del table[key if dot else section]
    config.save(found)
    click.echo(f"{name} is no longer set")


def _parameter(section: str, key: str) -> click.Option:
    from seekwise.cli.main import cli, option_of

    found = cli.get_command(click.Context(cli), section)
    if found is None:
        raise UsageError(f"`{section}` is no command", hint="`seekwise --help` lists them")
    option = option_of(found, key)
    if option is None:
        known = sorted(each.removeprefix("--") for p in found.params if isinstance(p, click.Option) for each in p.opts)
        hint = suggestion.hint(key, known, f"its options: {', '.join(known)}")
        raise UsageError(f"`seekwise {section}` has no option `--{key}`", hint=hint)
    return option


def _checked(name: str, option: click.Option, value: tuple[str, ...]) -> object:
    """The value as the file keeps it: as typed, after the option has accepted it."""
    context = click.Context(click.Command(name))
    if option.is_flag:
        if len(value) != 1 or value[0] not in ("true", "false"):
            raise UsageError(f"`{name}` is true or false")
        return value[0] == "true"
    if len(value) > 1 and not option.multiple:
        raise UsageError(f"`{name}` takes one value, not {len(value)}")
    try:
        option.type_cast_value(context, list(value) if option.multiple else value[0])
    except click.BadParameter as error:
        raise UsageError(f"`{name}`: {error.message.rstrip('.')}") from error
    return list(value) if option.multiple else value[0]


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
