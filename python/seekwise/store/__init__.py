"""The results database: runs and their records in one SQLite file, and their export.

database.py                    runs, records, names; old files open, newer ones are refused
record.py                      what one trial did, whatever measured it
operations.py, percentiles.py  the five operations by name; percentiles of histograms
codec.py                       records as JSON and back: the border where documented names stay
damage.py                      one bad run is an error about that run
export.py                      CSV, JSON, the study of a run

Uses: no other room.
Start: `database.Store`, `record.Record`.
"""
