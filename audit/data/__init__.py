"""Labels and predictions, read and mapped to the nodes of a hierarchy."""
