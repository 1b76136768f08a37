"""Votes on tuples: agreement, weak labels, and annotators unlike all others."""
