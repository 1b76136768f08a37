"""The report of a comparison of two runs."""
