"""Programs as they were recorded: the calls of their units of work, and the computing between them.

recording.py   what a recording is, its file, those that ship      placed.py     recordings of a use → files and
programs on a drive

    python -m seekwise_proof.recorder start FOLDER     records one anew, as root
"""
