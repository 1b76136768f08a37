"""Checks of entailment graphs."""
