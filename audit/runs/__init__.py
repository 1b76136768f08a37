"""Runs: make, write, seal, read, verify and compare them."""
