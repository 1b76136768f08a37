"""Readers of label files."""
