"""The real kernel on modelled drives: served in real time, attached over nbd, joined by mdadm, measured as real hardware is.

storage.py   what a system is made of, and the commands that make it
build.py     made and taken down again
backend.py   what the study sees
"""

from seekwise.backend.virtual.backend import VirtualBackend

__all__ = ["VirtualBackend"]
