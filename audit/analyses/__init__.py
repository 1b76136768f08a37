"""The four analyses that commands make: explanations, concepts, entailment and preference."""
