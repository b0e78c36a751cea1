"""Seekwise: which I/O settings should this storage use for this work?"""
