"""What every page shares: templates, style, the one script, the content policy, and writing a file whole or not at all.

A page is one file. It makes no request: the policy allows the style and the script that stand in it (by its hash) and
nothing else. Everything on it is there without the script, too, which sorts and downloads tables, redraws charts over
other factors and shows tooltips.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from seekwise.files import write_product
from seekwise.number_text import one_line, plain_settings, three


@cache
def environment() -> Environment:
    """Templates; whatever is put into them is escaped unless it is Markup."""
    made = Environment(
        loader=PackageLoader("seekwise.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["three"] = three
    made.filters["oneline"] = one_line
    made.filters["plain"] = plain_settings
    return made


@cache
def _source(name: str) -> str:
    text, _, _ = environment().loader.get_source(environment(), name)  # type: ignore[union-attr]
    return text


def render(template: str | Template, **values: object) -> str:
    """The page as text; a template of another distribution is given as such."""
    script = "\n" + _source("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        environment()
        .get_or_select_template(template)
        .render(script=Markup(script), policy=policy, style=Markup(_source("style.css")), **values)
    )


def data(value: object) -> Markup:
    """JSON for a `<script type="application/json">`: nothing in it can end the element."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


def write(path: Path, text: str) -> Path:
    """Writes the page whole or not at all, and through no link that waits there; gives the absolute path."""
    return write_product(path.absolute(), text)
