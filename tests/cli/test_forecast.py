"""How long a command says that it still takes: within a factor of two, and nothing before that is known."""

import re

import pytest

from seekwise.cli import _display, _output


@pytest.mark.parametrize(
    ("start_s", "steps_s"), [(30.0, [1.0] * 40), (0.0, [0.5] * 20 + [1.0] * 20), (3.0, [2.0] * 40)]
)
def test_the_time_left_is_not_said_before_it_is_known_and_then_holds_within_a_factor_of_two(
    monkeypatch, start_s, steps_s
):
    now, said = [0.0], []
    monkeypatch.setattr(_display.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(_output, "progress", lambda text: said.append((now[0], text)))
    ends = start_s + sum(steps_s)
    with _display.counting("trials") as tell:
        tell(0, len(steps_s))
        now[0] += start_s
        for done, step in enumerate(steps_s, 1):
            now[0] += step
            tell(done, len(steps_s))
    told = [
        (at, text, float(match[1]) * (60 if match[2] == "min" else 1))
        for at, text in said
        if (match := re.search(r"about ([\d.]+) (s|min)\b", text))
    ]
    assert told and all((ends - at) / 2.05 <= left <= (ends - at) * 2.05 for at, _, left in told)
    assert told[0][0] <= start_s + 3 * max(steps_s[:2]) + _display.EVERY_S
    # The first trial holds the start of everything: nothing is foretold from it.
    assert not any("left" in text for _, text in said if text.startswith("1 of"))
