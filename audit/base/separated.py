"""Texts of separated values, as the `csv` module reads them."""

from __future__ import annotations

import csv
import io


def stream_of(text: str) -> io.StringIO:
    """A stream of a text that the module reads whatever its fields hold.

    Fields may be as long as the text: the module's limit, one for the whole process, is raised.
    """
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    return io.StringIO(text, newline="")
