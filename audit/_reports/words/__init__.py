"""Wording and formatting of reports."""
