"""What is asked: real programs and the processes that run them, uses, studies, and the plans that they become.

program.py    what a program is: its parameters, its data, one unit of work
programs/     one module per program; the registry
data.py       the data that programs work on, laid out once per run
cold.py       evicted from the page cache, and shown to be
crew.py       the process that runs the workers of a use, commanded by the run
worker.py     one worker: a unit after another, logged in memory
log.py        the log of units
team.py       the crew as the run sees it
study/        study files parsed (`parse.py`, `study.py`), uses (`uses.py`), what may vary (`factors.py`), the plan of a
              study (`plan.py`)
live_plan.py  the plan of a live-switched run

Uses: linux, control, store.
Start: `study/plan.py` for what a study will do (`planning.py` makes it), `study/uses.py` for what `tune` runs.
"""
