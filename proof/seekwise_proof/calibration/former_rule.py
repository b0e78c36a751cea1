"""What the rule before this one (version 6: proven after a correction for all comparisons) did on draws of the same
kind, kept to be printed beside.

Measured once with `verify judgement` of that version and with `calibration.decisions` of this one around its judge;
that code is gone.
"""

NULL_TABLES = 0.019
POWER_AT_5 = 0.77
TIES_AT_5 = 0.0014
"""Ties per comparison in the mixed study."""
PERIODS_POWER = 0.82
USEFUL, USEFUL_SHORT = 0.36, 0.48
"""Share of comparisons with a named difference or an equality, over all drawn and known machines, and over two minutes
of the known ones."""
REGRET = (0.049, 0.080, 0.018)
"""Mean loss of an answer, ln: everything, responsive, throughput."""
PERMUTED = 27 / 60
"""Rule 8, on the same runs."""
