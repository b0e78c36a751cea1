"""Traces of block I/O: read from any common format, recorded from the kernel, shown, understood as a load that closes
its loop.

readers/       one module per format, one row each in its `__init__.py`
record/        the kernel's block events, recorded                            file.py    our own format, `.swt`
columns.py     what every reader yields: one array per column                 summary.py `trace` in figures
depend.py, paced.py, shape.py, load.py   what each program waits for, and the load that the simulator plays
excerpt.py     a short stretch as it is kept with a run                       close_up.py   what requests met on their
way

Uses: control.
Start: `readers.open_trace`, `load.make` for a what-if.
"""
