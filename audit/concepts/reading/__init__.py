"""Representations and facet tables from files, and representations back into files."""
