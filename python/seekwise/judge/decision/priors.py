"""What is expected of a setting before anything was measured: shares of the sizes of its effect. Printed with every report; `tune --no-prior` does without.

Sizes are standard deviations of ln goodness about what most settings do: 0.3 %, 1 %, 3 %, 10 %, 30 %, and a factor of e (`posterior.SCALES_LOG`).
"""

from __future__ import annotations

from seekwise.judge.decision.posterior import Prior

USUAL = Prior(
    (0.15, 0.15, 0.25, 0.25, 0.12, 0.08),
    8.0,
    "schedulers on NVMe drives with many cores (Ren and others, ICPE 2024, table of ratios to none): 19 % of kyber's ratios, 40 % of "
    "mq-deadline's and 66 % of bfq's lie beyond 30 %; programs on virtio disks: more than half of all differences within 3 %",
)
"""Worth eight entries: two rounds of a true difference of 20 % outweigh it."""

FLAT = Prior((0.0, 0.0, 0.0, 0.0, 0.0, 1.0), 0.0, "none: every difference is taken as it was measured")
"""For `--no-prior`: one scale so wide that it says nothing."""
