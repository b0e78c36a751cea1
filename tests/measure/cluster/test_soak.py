"""Two workers, one of them killed again and again: the store is that of one process, bit for bit (`benches/soak.py` does 10⁵ trials)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[3] / "benches" / "soak.py"


@pytest.mark.slow
def test_random_kills_leave_no_trace_in_the_store(tmp_path) -> None:
    words = [
        sys.executable,
        str(SOAK),
        "--trials",
        "3000",
        "--ios",
        "100",
        "--kill-every",
        "4",
        "--folder",
        str(tmp_path),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout)
    assert found["equal"] and found["rows"] == found["different_trials"] >= 3000
    assert found["killed"] > 0
