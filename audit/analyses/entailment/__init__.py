"""Abstraction entailment graphs: datasets of text whose labels are the edges of a hierarchy, and
predictions on them.
"""
