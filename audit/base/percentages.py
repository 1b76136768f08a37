"""Shares as percentages."""

from __future__ import annotations

_ERROR = 1e-12
"""How far from 1 the mean of many ones may be."""


def percentage(share: float) -> str:
    """A share with one digit after the point; one that is not none or all is not written as such.

    >>> percentage(0.1234), percentage(0.0), percentage(1.0)
    ('12.3%', '0.0%', '100.0%')
    >>> percentage(0.0001), percentage(1e-15), percentage(0.9999)
    ('<0.1%', '<0.1%', '>99.9%')
    """
    text = f"{share:.1%}"
    if text == "0.0%" and share > 0:
        return "<0.1%"
    return ">99.9%" if text == "100.0%" and share < 1 - _ERROR else text
