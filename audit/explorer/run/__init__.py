"""A run as `audit explore` looks at it: its nodes, pairs, findings and instances, page by page."""
