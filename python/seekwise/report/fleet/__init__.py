"""Many hosts: their measured runs in one place, pooled by like devices.

bundle.py       a host's runs as one file
checked.py      its records, field by field
rows.py         a record as flat rows, and their sums by device, load and setting
parquet.py      the same rows for Dask, DuckDB and pandas
pooled.py       settings compared with the host as a random effect
unlike.py       devices unlike their twins, and what kernels and firmware change
fleet_answer.py  all of it in words and as a document
"""
