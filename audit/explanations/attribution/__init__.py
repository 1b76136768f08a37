"""Attributions of a torch model, computed from its embedding layer."""
