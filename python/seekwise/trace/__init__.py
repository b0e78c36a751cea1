"""Traces of block I/O: read from any common format, recorded, shown, understood."""
