"""What an entailment dataset holds: counts, texts, splits, and whether tuples are consistent."""
