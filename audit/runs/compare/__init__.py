"""Comparison of two runs: what changed, and why."""
