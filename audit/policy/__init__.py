"""Policies: what an audit judges by, written down."""
