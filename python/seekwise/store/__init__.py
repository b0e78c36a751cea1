"""The results database: runs and their records in one SQLite file, exported, and imported from other tools.

database.py   runs, records, names; old files open, newer ones are refused     record.py   what one trial did, whatever measured it
codec.py      records as JSON and back: the border where documented names stay  damage.py  one bad run is an error about that run
export.py     CSV, JSON, the study of a run                                     fio_result.py   fio's own figures
foreign/      other tools' results; one module per format, one row each in its `registry.py`

Uses: workload.
Start: `database.Store`, `record.Record`.
"""
