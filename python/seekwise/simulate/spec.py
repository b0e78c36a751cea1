"""What crosses the border to the compiled simulator, as JSON; its shape is checked on the other side
(`crates/sim/src/spec/`)."""

from __future__ import annotations

from typing import Any

Spec = dict[str, Any]
"""What is asked: a trial, or a part of one."""
Answer = dict[str, Any]
"""What comes back: a trial's result, or a part of it (`crates/sim/src/result/`)."""
