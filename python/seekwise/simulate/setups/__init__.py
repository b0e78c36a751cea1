"""What a published system was built of, as storage that can be simulated.

queries.py  what may be asked of a system, by whom ever it is answered
setup.py    drives, array, file system and host of one system
trials.py   one published combination as what the simulator is asked
value.py    values and their errors: what is not modelled is said, never guessed
"""
