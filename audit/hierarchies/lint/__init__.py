"""Structural checks on a hierarchy by itself, without data: `audit lint`."""
