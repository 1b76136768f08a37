"""Prompts for language models, and their answers, as files: this package calls no model."""
