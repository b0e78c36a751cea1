"""The program's own words: commands, options, settings that a study may vary, workloads, profiles and studies, from where they are defined."""

from __future__ import annotations

import click

from seekwise.study import factors, profiles, starters

Entry = tuple[str, str, tuple[str, ...]]
"""Title, text, where to go on."""


def explained(word: str) -> Entry | None:
    """A command, an option (`--for`, or `for` after nothing else is called so), a setting, a workload, a profile or a study."""
    name = word.strip().lower()
    # An option is asked for with its dashes: `--seed` is no command.
    if name.startswith("--"):
        return _option(name)
    return _command(name) or _factor(name) or _workload(name) or _profile(name) or _study(name) or _option(f"--{name}")


def _commands(group: click.Group, prefix: str = "") -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            continue
        found[f"{prefix}{name}"] = command
        if isinstance(command, click.Group):
            found |= _commands(command, f"{prefix}{name} ")
    return found


def commands() -> dict[str, click.Command]:
    """Every command of the program by its full name."""
    from seekwise.cli.main import cli  # the command line imports this package

    return _commands(cli)


def options() -> dict[str, dict[str, str]]:
    """{option: {command: help}}"""
    found: dict[str, dict[str, str]] = {}
    for name, command in commands().items():
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                for spelling in (*parameter.opts, *parameter.secondary_opts):
                    found.setdefault(spelling.lower(), {})[name] = parameter.help or ""
    return found


def _command(name: str) -> Entry | None:
    command = commands().get(name)
    if command is None:
        return None
    text = " ".join((command.help or command.short_help or "").split())
    return f"seekwise {name}: a command", f"{text}\n\n`seekwise {name} --help` lists its options.", ()


def _option(name: str) -> Entry | None:
    found = options().get(name)
    if not found:
        return None
    by_help: dict[str, list[str]] = {}
    for command, text in found.items():
        by_help.setdefault(text or "Show what the command takes.", []).append(command)
    lines = [f"{', '.join(names)}: {text}" for text, names in by_help.items()]
    return f"{name}: an option", "\n\n".join(lines), ()


def _factor(name: str) -> Entry | None:
    row = factors.FACTORS.get(name.replace(" ", "_").replace("-", "_"))
    if row is None:
        return None
    where = f"/sys/block/DEVICE/{row.attribute}" if row.attribute else "decided when the array or file system is built"
    meaning = row.meaning[:1].upper() + row.meaning[1:]
    return f"{row.name}: a setting that a study may vary", f"{meaning}. Allowed: {row.allowed}. Place: {where}.", ()


def _workload(name: str) -> Entry | None:
    from seekwise.advise import workloads

    found = workloads.shipped().get(name.replace(" ", "-"))
    if found is None:
        return None
    total = sum(found.operations.values())
    shares = ", ".join(f"{op.replace('_', ' ')} {100 * share / total:.0f} %" for op, share in found.operations.items())
    meaning = found.meaning[:1].upper() + found.meaning[1:]
    return f"{found.name}: a use that advice can be given for", f"{meaning}. Weights: {shares}.", ("uses",)


def _profile(name: str) -> Entry | None:
    if name not in profiles.names():
        return None
    text = str(profiles.table_of(name).get("description", ""))
    return f"{name}: a workload profile", f"{text[:1].upper()}{text[1:]}.", ()


def _study(name: str) -> Entry | None:
    if name not in starters.names():
        return None
    study, _ = starters.open_study(name)
    systems = f"{len(study.system)} system{'' if len(study.system) == 1 else 's'}"
    text = f"{study.question or 'A study that ships with the program.'} {systems}. `seekwise plan {name}` shows what it would run."
    return f"{name}: a study", text, ()
