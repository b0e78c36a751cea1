"""The A/A control: one setting under two labels. Whatever is found between them is false.

Every study carries one. It says how large a difference chance alone produces here (and so raises the threshold of a
win), and the share of combinations in which the rule names a winner between a setting and itself is printed beside the
results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seekwise.judge.decision.observed import control_pairs, judge_observations
from seekwise.judge.decision.pairs import Pair, pairs
from seekwise.judge.observation import Observation


@dataclass(frozen=True)
class ControlReport:
    """What the A/A pairs of a study showed."""

    comparisons: int
    wins_false: int
    unknown: int
    pairs: tuple[Pair, ...]

    @property
    def wins_false_share(self) -> float:
        """Share of all comparisons, unknown ones included; 0 without any."""
        return self.wins_false / self.comparisons if self.comparisons else 0.0

    @property
    def text(self) -> str:
        """One line for a report."""
        if not self.comparisons:
            return "no A/A check in this study"
        return (
            f"A/A check {'passed' if not self.wins_false else 'not clean'}: {self.wins_false} false differences in "
            f"{self.comparisons} comparisons of a setting with itself ({100 * self.wins_false_share:.0f} %)"
        )


def judge_control(
    observations: Sequence[Observation],
    *,
    control: tuple[str, str] | None = None,
) -> ControlReport:
    """Judges the two labels of each control against each other, by the same rule as everything else."""
    compared: list[Pair] = []
    settings = list(dict.fromkeys(o.setting for o in observations))
    for first, second in control_pairs(settings) if control is None else [control]:
        # Without the suffix the second label is a setting like any other.
        names = {"label A": first, "label B": second}
        labels = {setting: label for label, setting in names.items()}
        renamed = [replace(o, setting=labels[o.setting]) for o in observations if o.setting in labels]
        for pair in pairs(judge_observations(renamed)):
            standing = replace(pair.standing, setting=names[pair.standing.setting])
            compared.append(replace(pair, other=names[pair.other], standing=standing))
    return ControlReport(
        comparisons=len(compared),
        wins_false=sum(pair.winner is not None for pair in compared),
        unknown=sum(pair.verdict == "unknown" for pair in compared),
        pairs=tuple(compared),
    )
