"""What a system is built of, as storage that can be simulated.

setup.py    drives, array, file system and host of one system; what is not modelled is said, never guessed
trials.py   one combination as what the simulator is asked
"""
