"""Simulated trials on many processors and machines, by Dask's engine: `run --workers N`, `run --on WHERE`.

where.py       which cluster: local workers, or a Dask scheduler that is running
client.py      the connection, which may go away and come back
portions.py    trials cut into batches by what they cost
work.py        what a worker does: the only module that runs over there
spread.py      hands batches out, takes their rows exactly once, gives out again what was lost
"""
