"""Which array to build of some drives for a load: every combination is simulated.

space.py        what may be chosen
trial.py        one point under one load in the simulator, as figures
search.py       all points, then the best of each array again with other seeds; which of them are equals
judge/design_choice.py, report/array_answer.py  the recommendation, in words and as a document
"""
