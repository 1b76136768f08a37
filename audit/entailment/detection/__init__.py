"""Detection: models that say whether tuples are valid, their baselines and their consistency."""
