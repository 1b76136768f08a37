"""The graph that an entailment dataset states: cycles, contradictions, what does not follow."""
