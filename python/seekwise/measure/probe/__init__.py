"""Measuring what a drive model needs, on a drive, by reading alone."""
