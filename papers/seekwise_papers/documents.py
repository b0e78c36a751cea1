"""Modules whose dataclasses `--json` prints."""

DOCUMENTS = ("seekwise_papers.claims", "seekwise_papers.verdicts")
