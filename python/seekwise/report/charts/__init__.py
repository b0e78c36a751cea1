"""One function per chart: rows in, Altair chart out. Adding a chart is one file here and one row in `registry.py`."""
