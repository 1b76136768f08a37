"""Scores of a model over arrays: confusion, cuts, decisions."""
