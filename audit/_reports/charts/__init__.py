"""Charts: rows in, SVG out."""
