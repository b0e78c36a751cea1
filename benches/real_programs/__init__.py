"""Real programs under each scheduler, set beside what `tune` stated: see `benches/programs.py`."""
