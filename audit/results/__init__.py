"""The result of an audit: its record, its overviews, and the view of it that may be shared."""
