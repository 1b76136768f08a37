"""Renderables of results for a terminal; nothing is printed here."""
