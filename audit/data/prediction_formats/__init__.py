"""Readers of prediction files."""
