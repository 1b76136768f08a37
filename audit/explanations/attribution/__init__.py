"""Attributions of a torch model: computed from its embedding layer, and how faithful they are."""
