"""Charts, from rows to SVG."""
