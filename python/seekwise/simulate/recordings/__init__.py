"""Programs as they were recorded: the calls of their units of work, and the computing between them.

recording.py   what a recording is, its file, those that ship      events.py     the kernel's trace events → calls
recorder.py    runs a program and records it                       placed.py     recordings of a use → files and programs on a drive

    python -m seekwise_proof.recorder start FOLDER     records one anew, as root
"""
