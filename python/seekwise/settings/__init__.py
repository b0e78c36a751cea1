"""From a verdict to a machine that is set that way, and back; and whether it still is.

asked.py      what `apply` was asked for
apply.py      sets values until `seekwise revert`
persist.py    the same over a restart; forms/ has one module per way
conflicts.py  what would undo it
history.py    what was set, and why
status.py     whether it still is
guard/        compares the load before and after
doctor/       what is plainly wrong; one module per check
controllers/  tools of RAID cards

Uses: linux, control, store, judge, measure, report.
Start: `apply.py`, `doctor/__init__.py`.
"""
