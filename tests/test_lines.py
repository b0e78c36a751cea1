"""`tools/lines.py` counts code, not what is said about it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

SPEC = importlib.util.spec_from_file_location("lines", Path(__file__).parents[1] / "tools/lines.py")
lines = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(lines)


def test_comments_docstrings_and_blank_lines_of_python_are_no_code():
    text = '"""A module,\nin two lines."""\n\n# why\nX = (\n    1\n)\n"""Of X."""\n\n\ndef f():\n    """What."""\n    return "a" "b"\n'
    assert lines.python_lines(text) == 5


def test_comments_and_tests_of_rust_are_no_code():
    text = "//! Head.\nfn f() {\n    /* two\n    lines */\n    g(); // why\n}\n\n#[cfg(test)]\nmod tests {\n    fn t() {}\n}\n"
    assert lines.rust_lines(text) == 3
