"""Live switching: the load keeps running, the settings change under it, and each period is one observation.

candidates.py  what is compared, and where each value is set
order.py       which candidate runs when
jobs.py        a use as a fio job
logs.py        what fio logged
prepare.py     test files and control groups
stretch.py     one fio under which settings are switched
carry.py       how long a switch still has an effect; that time is left out
progress.py    which use is measured next, and when everything is decided
open_run.py    a run while it measures
session.py     one whose loads are ours
race.py        time goes where it decides
also.py        further settings, and which of them matter: screen.py, staged.py
execute.py     the whole run
passive.py     the same under a load that is already there
own.py         the same by a command of the user's
latencies.py   percentiles of such a load
simulated.py   the same uses on a drive model
"""
