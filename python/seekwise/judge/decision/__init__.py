"""The decision: one setting, and how much it can lose at most. The one judge of every run.

periods.py    what is known of one period, and figures of several merged
observed.py   repetitions of a study as rounds of the same kind
statistics.py every pair of settings: difference, error, p; holds under autocorrelation and drift
pair_verdicts.py  one pair in a word and a sentence
verdicts.py   the judge: best, within, worse, undecided; corrected for the number of comparisons
choose.py     one setting for all uses, one per group of uses
document.py   the documented JSON
"""
