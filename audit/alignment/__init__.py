"""Measures of Abstraction Alignment: a model's predictions in, tables out."""
