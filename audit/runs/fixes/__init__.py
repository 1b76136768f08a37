"""From finding to fix: proposals as sheets to decide on, and corrected copies of the data."""
