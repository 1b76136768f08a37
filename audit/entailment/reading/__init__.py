"""Tuples of entailment graphs from files of several forms."""
