"""Measurements of a dataset: labels and counts in, tables out."""
