"""Importance alignment: whether what a model looks at is what people point to."""
