"""Counts of nodes and pairs: of a dataset in memory, in batches, added up, on Spark."""
