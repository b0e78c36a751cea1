"""Pages of the site that are made from the program itself, so that they cannot differ from it: a hook of mkdocs (`mkdocs.yml`).

`pages()` gives {path below docs/: Markdown}. Nothing is written into the source folder.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent
SKIPPED = ("--help", "-h")
NOTE = "*Generated from the program.*\n"


def pages() -> dict[str, str]:
    found = {
        "reference/commands/index.md": command_index(),
        "reference/settings.md": settings(),
        "reference/uses.md": uses(),
        "reference/models.md": models(),
        "reference/study-keys.md": study_keys(),
        "reference/exit-statuses.md": exit_statuses(),
        "reference/environment.md": environment(),
        "reference/words.md": words(),
        "reference/json/index.md": json_index(),
        "security.md": of_the_root("SECURITY.md"),
        "changelog.md": of_the_root("CHANGELOG.md"),
    }
    for folder, place in OTHERS.items():
        for path in (ROOT / folder).glob("*.md"):
            found[f"{place}/{path.name}"] = for_the_site(path.read_text(encoding="utf-8"))
    for name, command in top_commands().items():
        found[f"reference/commands/{name}.md"] = command_page(name, command)
    from seekwise.cli import schemas

    for name in schemas.names():
        found[f"reference/json/{file_of(name)}"] = schema_page(name, schemas.load(name))
    return found


OTHERS = {"proof/docs": "proof", "papers/docs": "published"}
"""{folder of the repository: where its pages stand on the site}"""


def of_the_root(name: str) -> str:
    """A page that lies above docs/ in the repository and beside its index on the site: links follow."""
    return for_the_site((ROOT / name).read_text(encoding="utf-8")).replace("](docs/", "](")


def for_the_site(text: str) -> str:
    """Links that lead from one folder of the repository to another, as they lead on the site."""
    for folder, place in OTHERS.items():
        text = re.sub(rf"\]\(((?:\.\./)*?)(?:\.\./)?{folder}/", rf"](\1{place}/", text)
    return text.replace("](../../docs/", "](../")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """mkdocs: a page of docs/ before it is drawn."""
    return for_the_site(markdown)


def on_files(files: Any, config: Any) -> Any:
    """mkdocs: adds the pages."""
    from mkdocs.structure.files import File

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    return files


def table(header: tuple[str, ...], rows: Iterator[tuple[str, ...]] | list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(cell(each) for each in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def top_commands() -> dict[str, click.Command]:
    from seekwise.cli.main import cli

    context = click.Context(cli, info_name="seekwise")
    return {name: cli.get_command(context, name) for name in cli.list_commands(context)}


def command_index() -> str:
    from seekwise.cli.main import cli

    rows = [(f"[`{name}`]({name}.md)", command.get_short_help_str(100)) for name, command in top_commands().items()]
    options = option_table(cli)
    return f"# Commands\n\n{NOTE}\n{table(('Command', 'What it does'), rows)}\n## Options of `seekwise`\n\n{options}"


def command_page(name: str, command: click.Command, full: str = "", level: int = 1) -> str:
    full = full or f"seekwise {name}"
    context = click.Context(command, info_name=full)
    usage = " ".join(command.collect_usage_pieces(context))
    text = [f"{'#' * level} {full}", "", *([NOTE] if level == 1 else [])]
    text += ["```text", f"{full} {usage}", "```", "", paragraphs(command.help or ""), "", option_table(command)]
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            text += ["", command_page(each, command.get_command(context, each), f"{full} {each}", level + 1)]
    return "\n".join(text)


def paragraphs(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n")).replace("<", "&lt;")


def option_table(command: click.Command) -> str:
    rows = []
    for parameter in command.params:
        if isinstance(parameter, click.Option) and not set(parameter.opts) & set(SKIPPED):
            names = ", ".join(f"`{each}`" for each in parameter.opts)
            value = "" if parameter.is_flag else f" {parameter.make_metavar(click.Context(command))}"
            default = parameter.default
            shown = (
                ""
                if default in (None, False, (), []) or callable(default) or not isinstance(default, str | int | float)
                else f" Default: {default}."
            )
            rows.append((names + cell(value), f"{parameter.help or ''}{shown}"))
    return table(("Option", "Meaning"), rows) if rows else ""


def settings() -> str:
    from seekwise.control import attributes
    from seekwise.workload.study import factors

    rows = [
        (f"`{row.name}`", row.meaning, row.allowed, f"`{row.attribute}`" if row.attribute else "fixed when built")
        for row in factors.FACTORS.values()
    ]
    known = [(f"`{row.name}`", row.unit) for row in attributes.REGISTRY]
    return (
        f"# Settings\n\n{NOTE}\nWhat a study or `tune --vary` may vary; an attribute lies below `/sys/block/DEVICE/`, a limit of dirty pages below `/proc/sys/vm/`.\n\n"
        f"{table(('Setting', 'Meaning', 'Allowed', 'Attribute'), rows)}\n"
        f"## What `apply --set` sets\n\nAnd every tunable of the scheduler in force, as `iosched.NAME`.\n\n{table(('Attribute', 'Values'), known)}"
    )


def uses() -> str:
    from seekwise.workload.study import load_words
    from seekwise.workload.study import uses as known

    text = [
        f"# Uses\n\n{NOTE}\nWhat `tune --for` measures. `--for GROUP` takes every use of a group. The format for your own: `seekwise explain use`.\n"
    ]
    for use in known.shipped():
        text.append(f"## {use.name}\n\n{use.title}. {use.why} Group: `{use.group}`.\n")
        text.append(table(("Job", "Role", "Load"), load_words.use_rows(use)))
        compared = ", ".join(f"`{metric.name}` ({metric.unit})" for metric in use.metrics)
        text.append(f"Compared: {compared}.\n")
    return "\n".join(text)


def models() -> str:
    from seekwise import _core

    drives = [json.loads(_core.drive_model(name)) for name in _core.drive_models()]
    controllers = [json.loads(_core.controller_model(name)) for name in _core.controller_models()]
    hosts = [json.loads(_core.host_model(name)) for name in _core.host_models()]
    text = f"# Models\n\n{NOTE}\n`seekwise explain NAME` prints every number of a model with its source and confidence.\n\n## Drives\n\n"
    text += table(
        ("Name", "Drive", "Kind", "Capacity"),
        [(f"`{each['id']}`", each["name"], each["kind"], capacity(each)) for each in drives],
    )
    text += "\n## Controllers\n\n" + table(
        ("Name", "Controller"),
        [(f"`{name}`", each["name"]) for name, each in zip(_core.controller_models(), controllers, strict=True)],
    )
    text += "\n## Hosts\n\n" + table(
        ("Name", "Host"), [(f"`{name}`", each["name"]) for name, each in zip(_core.host_models(), hosts, strict=True)]
    )
    return text


def capacity(model: dict[str, Any]) -> str:
    sectors = model["parameters"].get("capacity_sectors", {}).get("value")
    return "" if sectors is None else f"{sectors * 512 / 1e9:,.0f} GB"


def study_keys() -> str:
    from seekwise.workload.study.study import Study

    schema = Study.model_json_schema()
    text = [
        f"# Keys of a study\n\n{NOTE}\nWhat each key means is on [Study files](study.md); this lists them all with type and default.\n"
    ]
    text.append(f"## Top level\n\n{fields(schema)}")
    for name, part in sorted(schema.get("$defs", {}).items()):
        if "properties" in part:
            text.append(f"## {name}\n\n{fields(part)}")
    return "\n".join(text)


def fields(schema: dict[str, Any]) -> str:
    required = set(schema.get("required", ()))
    rows = []
    for name, each in schema.get("properties", {}).items():
        default = "required" if name in required else json.dumps(each.get("default"))
        rows.append((f"`{name}`", kind(each), default, each.get("description", "")))
    return table(("Key", "Type", "Default", "Meaning"), rows)


def kind(schema: dict[str, Any]) -> str:
    """The type in words."""
    if "const" in schema:
        return f"`{schema['const']}`"
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[-1]
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind(each) for each in schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {kind(schema['items'])}" if schema.get("items") else "list"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"map to {kind(schema['additionalProperties'])}"
    return schema.get("type", "anything") if isinstance(schema.get("type", ""), str) else " or ".join(schema["type"])


def exit_statuses() -> str:
    from seekwise.environment import STATUS_MEANINGS

    rows = [(str(status.value), meaning) for status, meaning in STATUS_MEANINGS.items()]
    return f"# Exit statuses\n\n{NOTE}\nThe same for every command.\n\n{table(('Status', 'Meaning'), rows)}"


def environment() -> str:
    from seekwise.environment import VARIABLES

    rows = [(f"`{name}`", meaning) for name, meaning in VARIABLES.items()]
    return f"# Environment variables\n\n{NOTE}\n{table(('Variable', 'Meaning'), rows)}"


def words() -> str:
    from seekwise.report import explain

    text = [
        f"# Words\n\n{NOTE}\nWhat `seekwise explain WORD` says of every term. Models are on a [page of their own](models.md).\n"
    ]
    for name in sorted(explain.terms()):
        found = explain.explain(name)
        text.append(f"## {cell(found.title)}\n\n{markdown(found.text)}\n")
    return "\n".join(text)


def markdown(text: str) -> str:
    """Paragraphs; tables and examples as they are printed."""
    parts = []
    for part in text.split("\n\n"):
        literal = any("   " in line.strip() or line.startswith("    ") for line in part.splitlines())
        parts.append(f"```text\n{part}\n```" if literal else part.replace("<", "&lt;"))
    return "\n\n".join(parts)


def file_of(schema: str) -> str:
    return schema.removeprefix("seekwise.").replace("/", "-") + ".md"


def json_index() -> str:
    from seekwise.cli import schemas

    rows = [(f"[`{name}`]({file_of(name)})", schemas.load(name).get("description", "")) for name in schemas.names()]
    return (
        f"# JSON documents\n\n{NOTE}\nEvery `--json` prints one document with a `schema` field. `seekwise schema NAME` prints its JSON Schema.\n"
        f"[What is promised](../../index.md#what-stays-stable).\n\n{table(('Schema', 'Printed by'), rows)}"
    )


def schema_page(name: str, schema: dict[str, Any]) -> str:
    text = [f"# {name}\n\n{NOTE}\n{schema.get('description', '')}\n\n{fields(schema)}"]
    for part, each in sorted(schema.get("$defs", {}).items()):
        if "properties" in each:
            text.append(f"## {part}\n\n{each.get('description', '')}\n\n{fields(each)}")
    return "\n".join(text)


if __name__ == "__main__":
    for path, text in pages().items():
        sys.stdout.write(f"{path}: {len(text.splitlines())} lines\n")
