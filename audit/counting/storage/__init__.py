"""Counts that are larger than memory, on the disk."""
