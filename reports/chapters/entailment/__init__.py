"""Chapters on entailment graphs."""
