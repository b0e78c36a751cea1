"""More than two candidates in one combination: which are not beaten by the best, and which form groups.

Works on the verdicts of one combination and metric, which were estimated together with the rest of their table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from seekwise.judge.naming import pieces
from seekwise.judge.observation import Verdict
from seekwise.judge.rule import more_is_better
from seekwise.workload.study.quantity import counted

NOT_LONG_ENOUGH = "not measured long enough"
GROUPS_MOST = 4
"""So many groups a cell of a table can carry."""


@dataclass(frozen=True)
class Ranking:
    """The candidates of one combination by one metric, best estimate first."""

    table: str
    combination: str
    metric: str
    order: tuple[str, ...]
    best: tuple[str, ...]
    """Not beaten by the best estimate; the best estimate itself first."""
    groups: tuple[tuple[str, ...], ...]
    """Best group first; every member of a group beats every member of a later one."""
    all_equal: bool
    """Every pair is shown to be equal (tie or small)."""

    @property
    def decided(self) -> bool:
        """Some candidate is beaten, or all are shown equal."""
        return len(self.best) < len(self.order) or self.all_equal

    @property
    def groups_text(self) -> str:
        """`noop + deadline against anticipatory + cfq`; empty when there are fewer than two groups."""
        if len(self.groups) < 2:
            return ""
        named = [" + ".join(pieces(group, self.order)) for group in self.groups[:GROUPS_MOST]]
        rest = len(self.groups) - len(named)
        return " against ".join(named) + (f" against {counted(rest, 'more group')}" if rest else "")

    @property
    def text(self) -> str:
        """As printed in a winner table: names, `=` when all are shown equal, `not measured long enough` when nothing is
        known."""
        if self.all_equal:
            return "="
        return " / ".join(pieces(self.best, self.order)) if len(self.best) < len(self.order) else NOT_LONG_ENOUGH


def candidates(verdicts: Sequence[Verdict]) -> Ranking:
    """From all verdicts of one combination and metric."""
    first = verdicts[0]
    names = list(dict.fromkeys(name for v in verdicts for name in (v.setting_a, v.setting_b)))
    beaten_by = {(v.winner, v.loser) for v in verdicts if v.winner is not None}
    scores = dict.fromkeys(names, 0.0)
    for v in verdicts:
        if math.isfinite(v.ratio) and v.ratio > 0:
            scores[v.setting_a] += math.log(v.ratio)
            scores[v.setting_b] -= math.log(v.ratio)
    sign = -1 if more_is_better(first.metric) else 1
    order = sorted(names, key=lambda name: sign * scores[name])
    best = tuple(name for name in order if (order[0], name) not in beaten_by)
    groups: list[tuple[str, ...]] = []
    start = 0
    for cut in range(1, len(order) + 1):
        if cut == len(order) or all((better, worse) in beaten_by for better in order[:cut] for worse in order[cut:]):
            groups.append(tuple(order[start:cut]))
            start = cut
    return Ranking(
        table=first.table,
        combination=first.combination,
        metric=first.metric,
        order=tuple(order),
        best=best,
        groups=tuple(groups),
        all_equal=all(v.word in ("tie", "small") for v in verdicts),
    )


def by_combination(verdicts: Sequence[Verdict]) -> list[Ranking]:
    """Candidates of every (table, combination, metric), in order of first appearance."""
    families: dict[tuple[str, str, str], list[Verdict]] = {}
    for v in verdicts:
        families.setdefault((v.table, v.combination, v.metric), []).append(v)
    return [candidates(members) for members in families.values()]
