"""Checks of concepts in representations, one a file."""
