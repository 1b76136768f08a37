"""Chapters on concepts in representations."""
