"""Chapters on explanations."""
