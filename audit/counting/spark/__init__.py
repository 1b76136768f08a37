"""Counting on Spark."""
