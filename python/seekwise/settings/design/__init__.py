"""Designed sweeps: which array to build of some drives for a load, without simulating every combination.

space.py        what may be chosen, and points spread over it (SciPy's Sobol sequence or Latin hypercube)
trial.py        one point under one load in the simulator, as figures
surrogate.py    what the points not simulated would give, with the error of such guesses
front.py        Pareto front
search.py       the stages: spread, guided, race
array_answer.py  the recommendation in words and as a document
"""
