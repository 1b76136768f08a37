"""Tests of whether a model's representations hold the concepts of its labels."""
