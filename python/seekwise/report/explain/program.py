"""The program's own words: commands, settings that a study may vary, workloads, profiles and studies, from where they
are defined."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import click

from seekwise import command_tree, environment
from seekwise.workload.purpose import PURPOSES
from seekwise.workload.study import factors
from seekwise.workload.study.quantity import counted

GROUP = re.compile(r'^group = "([a-z-]+)"$', re.MULTILINE)
Entry = tuple[str, str, tuple[str, ...]]
"""Title, text, where to go on."""


def explained(word: str) -> Entry | None:
    """A command, a setting, a use, a profile, a study or an environment variable."""
    name = word.strip().lower()
    if entry := _variable(word.strip()) or command_entry(name.removeprefix("seekwise ")) or _factor(name) or use(name):
        return entry
    return _profile(name) or _study(name)


def _commands(group: click.Group, prefix: str = "") -> dict[str, click.Command]:
    commands: dict[str, click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None:
            continue
        commands[f"{prefix}{name}"] = command
        if isinstance(command, click.Group):
            commands |= _commands(command, f"{prefix}{name} ")
    return commands


def commands() -> dict[str, click.Command]:
    """Every command of the program by its full name."""
    tree = command_tree.root()
    return _commands(tree) if tree is not None else {}


def words() -> list[str]:
    """Names of commands, settings, uses, profiles and studies, for suggestions."""
    from seekwise.workload.study import profiles, starters, uses

    named = [name for use in uses.shipped() for name in (use.name, use.group)]
    return [*commands(), *factors.FACTORS, *named, *profiles.names(), *starters.names()]


def command_entry(name: str) -> Entry | None:
    """A command by its full name; loads no other."""
    tree = command_tree.root()
    if tree is None:
        return None
    command: click.Command | None = tree
    context = click.Context(tree)
    for word in name.split() or [""]:
        command = command.get_command(context, word) if isinstance(command, click.Group) else None
    if command is None:
        return None
    text = "\n\n".join(" ".join(part.split()) for part in (command.help or "").split("\n\n"))
    return f"seekwise {name}: a command", f"{text}\n\n`seekwise {name} --help` lists its options.", ()


def _factor(name: str) -> Entry | None:
    row = factors.FACTORS.get(name.replace(" ", "_").replace("-", "_"))
    if row is None:
        return None
    folder = "/proc/sys/vm" if row.where == "system" else "/sys/block/DEVICE"
    where = f"{folder}/{row.attribute}" if row.attribute else "decided when the array or file system is built"
    meaning = row.meaning[:1].upper() + row.meaning[1:]
    return f"{row.name}: a setting that a study may vary", f"{meaning}. Allowed: {row.allowed}. Place: {where}.", ()


def _variable(name: str) -> Entry | None:
    meaning = environment.VARIABLES.get(name.upper())
    return None if meaning is None else (f"{name.upper()}: an environment variable", meaning, ("environment",))


def tables() -> dict[str, str]:
    """What stands for `{name}` in a text: a paragraph for each word and its meaning."""
    words: dict[str, Mapping[str, str]] = {
        "exit_table": {str(status.value): meaning for status, meaning in environment.STATUS_MEANINGS.items()},
        "environment_table": environment.VARIABLES,
        "purpose_table": {str(name): f"{meaning}." for name, meaning in PURPOSES.items()},
    }
    return {table: "\n\n".join(f"{name}: {text}" for name, text in rows.items()) for table, rows in words.items()}


@cache
def use_names() -> frozenset[str]:
    """Names and groups of the uses that ship, without loading what checks them."""
    names = set()
    for path in (Path(__file__).parents[2] / "uses").glob("*.toml"):
        group = GROUP.search(path.read_text(encoding="utf-8"))
        names |= {path.stem, *(group.groups() if group else ())}
    return frozenset(names)


def use(name: str) -> Entry | None:
    """A use or a group of uses that ships with the program: its jobs, what is compared, and how to measure it."""
    from seekwise.workload.study import load_words, uses

    wanted = name.replace(" ", "-")
    members = [use for use in uses.shipped() if wanted in (use.name, use.group)]
    if not members:
        return None
    parts = []
    for use in members:
        jobs = "; ".join(f"{job} ({role}): {load}" for job, role, load in load_words.use_rows(use))
        compared = ", ".join(f"{metric.kind} of {metric.job}" for metric in use.metrics)
        parts.append(f"{use.name}: {use.title}. {use.why} Jobs: {jobs}. Compared: {compared}.")
    parts.append(f"`seekwise tune PATH --for {wanted}` measures it.")
    if weighs := next((use.requests for use in members if use.requests is not None), None):
        total = sum(weighs.operations.values())
        shares = (f"{name.replace('_', ' ')} {100 * share / total:.0f} %" for name, share in weighs.operations.items())
        parts.append(
            f"`seekwise advise RUN --for {wanted}` weights the records of a study for it: {', '.join(shares)}."
        )
    kind = "a group of uses" if len(members) > 1 else "a use"
    return f"{wanted}: {kind}", "\n\n".join(parts), ("uses", "use")


def _profile(name: str) -> Entry | None:
    from seekwise.workload.study import profiles  # loads the models of studies

    if name not in profiles.names():
        return None
    text = str(profiles.table_of(name).get("description", ""))
    return f"{name}: a workload profile", f"{text[:1].upper()}{text[1:]}.", ("profile",)


def _study(name: str) -> Entry | None:
    from seekwise.workload.study import starters

    if name not in starters.names():
        return None
    study, _ = starters.open_study(name)
    systems = counted(len(study.system), "system")
    text = f"{study.question or 'A study that ships with the program.'} {systems}. `seekwise run {name} --dry-run` shows what it would run."
    return f"{name}: a study", text, ()
