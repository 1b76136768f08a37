"""Readers of prediction files, one format a file."""
