"""udev's database: what the rules found out about a device, and the links in `/dev` that lead to it.

`/run/udev/data/bMAJOR:MINOR` since udev 174; before that `/dev/.udev/db/block:NAME`. Both have lines `E:KEY=VALUE` and
`S:LINK`. Minimal systems and containers have neither: nothing here is required.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from seekwise.linux.tree import Tree


@dataclass(frozen=True)
class UdevEntry:
    properties: dict[str, str] = field(default_factory=dict)
    links: tuple[str, ...] = ()
    """Relative to `/dev`: `disk/by-id/ata-…`, `vg/lv`."""

    def first(self, *keys: str) -> str | None:
        """The first property that is set and not empty."""
        return next((value for key in keys if (value := self.properties.get(key))), None)

    def decoded(self, key: str) -> str | None:
        """An `…_ENC` property, whose unusual bytes are written `\\x20`."""
        if not (value := self.properties.get(key)):
            return None
        return re.sub(r"\\x([0-9a-fA-F]{2})", lambda match: chr(int(match[1], 16)), value).strip() or None


def read_udev(tree: Tree, name: str, major_minor: str) -> UdevEntry:
    """Properties and links of a device in udev's database, of old releases too; empty where udev knows none."""
    text = tree.text(f"/run/udev/data/b{major_minor}") if major_minor else None
    if text is None:
        # An old database escaped the `!` of cciss!c0d0 as \x21.
        for entry in (name, name.replace("!", "\\x21")):
            text = text or tree.text(f"/dev/.udev/db/block:{entry}")
    properties: dict[str, str] = {}
    links = []
    for line in (text or "").splitlines():
        tag, _, rest = line.partition(":")
        if tag == "E":
            key, equals, value = rest.partition("=")
            if equals:
                properties[key] = value
        elif tag == "S":
            links.extend(rest.split())
    return UdevEntry(properties, tuple(links))
