"""Pairs of nodes over sparse arrays: counts, tallies, strata, the scan."""
