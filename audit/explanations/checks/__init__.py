"""Rules on explanations, one per file: applied where a run has them."""
