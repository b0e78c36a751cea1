"""The key of a combination, as records and verdicts hold it: `rand_read system=ten cores threads=8 iodepth=16`.

Values may hold spaces (`ten cores, four drives`); a name is what stands before an equals sign.
"""

from __future__ import annotations

import re

NAME = re.compile(r"(?:^| )([a-z][a-z0-9_]*)=")


def parse(key: str) -> tuple[str, dict[str, str]]:
    """(operation, conditions by name); the operation is empty where the key has none."""
    names = list(NAME.finditer(key))
    operation = key[: names[0].start()] if names else key
    ends = [*(name.start() for name in names[1:]), len(key)][: len(names)]
    return operation.strip(), {name[1]: key[name.end() : end] for name, end in zip(names, ends, strict=True)}


def text(operation: str, conditions: dict[str, str]) -> str:
    """The key again."""
    words = [f"{name}={value}" for name, value in conditions.items()]
    return " ".join([operation, *words] if operation else words)


def without(key: str, *names: str) -> str:
    """The key without these conditions: `seq_read disk=vda threads=8` without `threads` is `seq_read disk=vda`."""
    operation, conditions = parse(key)
    return text(operation, {name: value for name, value in conditions.items() if name not in names})
