"""The decision: one setting, and how much it can lose at most. The one judge of live-switched runs.

periods.py    what is known of one period, and figures of several merged
bounds.py     loss of each candidate against the best, with bounds that hold under autocorrelation and drift
verdicts.py   best, within, worse, undecided; corrected for the number of statements
choose.py     one setting for all uses, one per group of uses
document.py   the documented JSON
"""
