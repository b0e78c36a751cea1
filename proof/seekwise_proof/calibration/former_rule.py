"""What the rule before this one (version 6: proven after a correction for all comparisons) did on draws of the same kind, kept to be printed beside.

Measured once with `verify judgement` of that version and with `calibration.decisions` of this one around its judge; that code is gone.
"""

NULL_TABLES = 0.0
POWER_AT_5 = 0.0
PERIODS_POWER = 0.82
USEFUL = 0.38
USEFUL_SHORT = 0.0
REGRET = (0.034, 0.045, 0.034)
