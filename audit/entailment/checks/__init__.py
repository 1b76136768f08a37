"""Checks of entailment graphs, one a file."""
