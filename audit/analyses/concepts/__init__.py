"""Tests of whether a model's representations hold the concepts of its labels.

Everywhere in it ``z`` are the representations of instances, shape (n, features).
"""
