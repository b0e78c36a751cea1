"""Carries out plans: trials in replicates, live switching, resuming, stopping early."""
