"""Chapters on a model's predictions."""
