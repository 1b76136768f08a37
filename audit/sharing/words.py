"""Told numbers in words, such as "about 935" and "fewer than 11", and shares in percent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any

from audit.base.declared import Column
from audit.sharing.bins import Bins
from audit.sharing.told import Declared, Rounding

ONE_DECIMAL, TWO_DECIMALS = 1_000, 10_000
"""Least told n of a share in percent with so many decimals."""


def said(evidence: Mapping[str, Any], columns: Declared, rounding: Rounding) -> dict[str, str]:
    """Numbers of a sentence in words, for `audit.base.plurals.filled`; none if counts are exact."""
    if not rounding.width:
        return {}
    counts = [name for name in evidence if columns[name].kind in ("count", "sum")]
    counts = [name for name in counts if evidence[name] is not None]
    alone = {name: count_said(evidence[name], _bins(columns[name], rounding)) for name in counts}
    alone |= {
        name: _about(value)
        for name, value in evidence.items()
        if columns[name].kind == "exact" and value and not rounding.leaves(columns[name])
    }
    shares = {
        name: share_said(value, evidence.get(of.of[1]), rounding)
        for name, value in evidence.items()
        if value is not None and (of := _share_of(columns[name], columns))
    }
    return {**alone, **shares, **dict(_part_phrases(counts, evidence, columns, rounding))}


def count_said(told: int, bins: Bins) -> str:
    """A told count.

    >>> bins = Bins(10, 5000)
    >>> count_said(935, bins), count_said(5, bins), count_said(4995, bins)
    ('about 935', 'fewer than 11', 'all or all but fewer than 11')
    """
    if bins.few(told):
        return f"fewer than {bins.width + 1}"
    return f"all or all but fewer than {bins.width + 1}" if bins.all_but_few(told) else _about(told)


def share_said(share: float, n: int | None, rounding: Rounding) -> str:
    """A share of n told instances in percent.

    >>> of = Rounding(10, {"instances": 50_000})
    >>> share_said(0.6952, 1345, of), share_said(0.004, 805, of), share_said(0.12345, 20_005, of)
    ('69.5%', '<1%', '12.35%')
    """
    digits = 0 if n is None else (n >= ONE_DECIMAL) + (n >= TWO_DECIMALS)
    if not rounding.width:
        digits = 1
    least = 10.0**-digits / 100
    if 0 < share < least / 2:
        return f"<{least:.{digits}%}"
    return f">{1 - least:.{digits}%}" if 1 - least / 2 < share < 1 else f"{share:.{digits}%}"


def _share_of(column: Column, columns: Declared) -> Column | None:
    """The share that a column is, or is an end of; None if it is neither."""
    own = columns[column.of[0]] if column.kind == "end" else column
    return own if own.kind == "share" else None


def _about(told: int) -> str:
    return f"about {told:,}"


def _bins(column: Column, rounding: Rounding) -> Bins:
    return rounding.bins(column.total)


def _part_phrases(
    counts: list[str], evidence: Mapping[str, Any], columns: Declared, rounding: Rounding
) -> Iterator[tuple[str, str]]:
    """``PART WHOLE`` and its words, where the two are not said as one number after the other."""
    for part, whole in permutations(counts, 2):
        k, n = evidence[part], evidence[whole]
        bins, of = _bins(columns[part], rounding), _bins(columns[whole], rounding)
        if of.few(n):
            yield f"{part} {whole}", count_said(k, bins)
        elif k == n and bins == of and not of.all_but_few(n):
            least = "two thirds" if n >= rounding.least else "half"
            yield f"{part} {whole}", f"more than {least} of {_about(n)}"
        elif of.all_but_few(n):
            yield f"{part} {whole}", f"{count_said(k, bins)} of about {of.total:,}"
