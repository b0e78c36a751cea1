"""A verdict as JSON: the dataclass's own fields; what is not known is null, never NaN."""

from __future__ import annotations

import math
from dataclasses import asdict

from seekwise.judge.observation import Verdict


def document(verdict: Verdict) -> dict[str, object]:
    """One verdict. A ratio without any common block, and an interval from a single one, are null."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in {**asdict(verdict), "unsteady": list(verdict.unsteady)}.items()
    }
