"""Metrics of a model's output against a hierarchy: alignment, accuracy and severity of mistakes."""
