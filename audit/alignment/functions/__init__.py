"""What `audit.metrics` has: the metrics as functions of lists and arrays, and as a class."""
