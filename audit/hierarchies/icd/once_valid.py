"""Codes of earlier editions: which were assignable once, and in which fiscal years."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data" / "once_valid.csv"
"""Table ``table, first, last, codes``: dotted codes of a code set that were assignable from the
first to the last of these fiscal years."""


@cache
def once_valid(table: str) -> Mapping[str, str]:
    """The codes that editions before or after the listed one had: ``FY1997 to FY2005``, ``FY2017``.

    Args:
        table: ``diagnoses`` or ``procedures`` of ICD-9-CM, from FY1997, or ``diagnoses-10``,
            ICD-10-CM, from FY2014. Empty for any other.
    """
    with DATA.open(encoding="utf-8", newline="") as stream:
        return {
            code: " to ".join(dict.fromkeys(f"FY{line[end]}" for end in ("first", "last")))
            for line in csv.DictReader(stream)
            if line["table"] == table
            for code in line["codes"].split()
        }
