"""What a result holds beside its counts: what was measured of a model, of drift, by analyses."""
