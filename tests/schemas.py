"""Documents of `--json` against their published schemas, strictly: a key that no schema names is an error. Others promise nothing."""

from __future__ import annotations

import json
from functools import cache

import jsonschema

from seekwise.cli import schemas

OF_PROOF = ("seekwise.validate.", "seekwise.bench/")
"""Documents of another distribution, which publishes no schemas."""


def strict(schema: object) -> object:
    """The schema without room for keys that it does not name."""
    if isinstance(schema, dict):
        made = {key: strict(value) for key, value in schema.items()}
        if "properties" in made:
            made["additionalProperties"] = False
        return made
    return [strict(each) for each in schema] if isinstance(schema, list) else schema


@cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(strict(schemas.load(name)))


def check(document: dict) -> str:
    """Raises when the document is not what its schema says; the schema's name."""
    name = document["schema"]
    if name not in schemas.names():
        return str(name)
    errors = [
        f"{'/'.join(map(str, each.absolute_path))}: {each.message[:200]}"
        for each in validator(name).iter_errors(document)
    ]
    assert not errors, f"{name}:\n" + "\n".join(errors[:10])
    return name


def check_output(words: tuple[str, ...], text: str) -> None:
    """Whatever a command printed with `--json`: one document, or one a line."""
    if "--json" not in words or not text.lstrip().startswith("{"):
        return
    try:
        documents = [json.loads(text)]
    except ValueError:
        documents = [json.loads(line) for line in text.splitlines()]
    for document in documents:
        if not document["schema"].startswith(OF_PROOF):
            check(document)
