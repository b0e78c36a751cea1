"""Real programs as loads: what they are, what they work on, and the processes that run their units of work.

program.py   what a program is: its parameters, its data, one unit of work      programs/   one module per program; the registry
data.py      the data that programs work on, laid out once per run              cold.py     evicted from the page cache, and shown to be
crew.py      the process that runs the workers of a use, commanded by the run   worker.py   one worker: a unit after another, logged in memory
log.py       the log of units                                                   team.py     the crew as the run sees it
"""
