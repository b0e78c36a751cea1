"""Shows what was measured and judged: charts, the page, the terminal. Reads records and verdicts, decides nothing."""
