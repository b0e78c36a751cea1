"""Carries out plans: trials in replicates and live switching on this machine, resuming.

execute.py  a study's plan, repetition by repetition, a committed record per trial
whatif.py   a recorded load on other storage
kernel/     trials on this machine: fio, tiotest, CPU time, memory limits, what makes a trial invalid
live/       `tune`: what is compared (`planning.py`, `candidates.py`), the load that keeps running, switching under it
            (`session.py`, `stretch.py`), where time goes (`race.py`, `progress.py`), the same on a model
            (`simulated.py`)
spread.py   simulated trials on other processes and machines; what a worker does: worker.py

Uses: linux, control, trace, workload, store, simulate, judge, importing.
Start: `live/execute.py` for `tune`, `execute.py` for `run`.
"""
