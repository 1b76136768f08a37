"""Counts of nodes and pairs: of a dataset in memory, in batches, on Spark."""
