"""Explanations: whether the tokens a model relies on are those that people point to, and whether
attribution methods agree.
"""
