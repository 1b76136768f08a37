"""Readers of hierarchy files, one format a file."""
