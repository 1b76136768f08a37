"""Readers of label files, one format a file."""
