"""Runs: made, written to a folder, sealed, read, verified and compared."""
