"""The decision: what to set, what it is worth and what it can cost. The one judge of every run.

periods.py    what is known of one period, and figures of several merged
observed.py   repetitions of a study as rounds of the same kind
effects.py    how good each setting was in one figure: robust estimates and their errors
posterior.py  all figures together: what is to be expected, by partial pooling; draws
priors.py     what is expected before anything was measured
verdicts.py   the judge: better, same, worse, unknown against what is in force
choose.py     one setting for everything, one per purpose: by expected regret
document.py   the documented JSON
"""
