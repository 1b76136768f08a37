"""The rules, one per file."""
