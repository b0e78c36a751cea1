"""Simulated trials on many processors and machines, by Dask's engine: `run --workers N`, `run --on WHERE`.

where.py       which cluster: a local one, a scheduler that is there, SLURM, SSH, Kubernetes
kubernetes.py  a cluster in pods: checked first, created for one run, deleted at its end
client.py      the connection, which may go away and come back
portions.py    trials cut into batches by what they cost
work.py        what a worker does: the only module that runs over there
spread.py      hands batches out, takes their rows exactly once, gives out again what was lost
"""
