"""Pure functions over arrays: propagation, pair counts, confusion, statistics."""
