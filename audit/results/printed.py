"""How told numbers are printed: small counts as "<11", and what pages say of rounding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from audit.base.plurals import counted
from audit.sharing.bins import Bins
from audit.sharing.words import ONE_DECIMAL, TWO_DECIMALS

Rounded: TypeAlias = Mapping[str, Any] | None
"""``rounding`` of a view; None where every number is exact."""


def few(n: int | None, rounding: Rounded) -> bool:
    """Whether a told count is of the first class, so that it may be none."""
    return rounding is not None and n is not None and n <= rounding["bin"]


def cell(n: int | None, rounding: Rounded) -> str:
    """A count in a table; empty where it is not told.

    >>> cell(5, {"bin": 10}), cell(5, None), cell(1235, {"bin": 10}), cell(None, None)
    ('<11', '5', '1,235', '')
    """
    if n is None:
        return ""
    return f"<{rounding['bin'] + 1}" if rounding and few(n, rounding) else f"{int(n):,}"


def told(n: int | None, nouns: str, rounding: Rounded) -> str:
    """A count, followed by what it counts; where it is rounded, ``<11`` for one of the first bin.

    >>> told(5, "rows", {"bin": 10}), told(1, "rows", None)
    ('<11 rows', '1 row')
    """
    return f"{cell(n, rounding)} {nouns}" if few(n, rounding) else counted(n, nouns)


def decimals_of(n: int | None) -> int:
    """Decimals of the percentages of a told count."""
    return ((n or 0) >= ONE_DECIMAL) + ((n or 0) >= TWO_DECIMALS)


def said_at_head(rounding: Rounded) -> str:
    """The sentence at the head of a page on how counts are rounded; empty where they are not."""
    if rounding is None:
        return ""
    width = rounding["bin"]
    return f"Counts are rounded: they are middles of bins of {width}; <{width + 1} may be none."


NOT_TOLD = "Further findings, on very few, are in audit explore alone."
"""That a check has findings that are not told."""


def in_sentence(n: int | None, rounding: Rounded) -> str:
    """A count in a sentence.

    >>> in_sentence(5, {"bin": 10}), in_sentence(1235, None), in_sentence(None, None)
    ('fewer than 11', '1,235', 'some')
    """
    return "some" if n is None else cell(n, rounding).replace("<", "fewer than ")


def mapped_of(ledger: Mapping[str, Any], rounding: Rounded) -> str:
    """How many of the rows read were mapped.

    >>> mapped_of({"rows_read": 1205, "rows_mapped": 1200}, None)
    '1,200 of 1,205 rows'
    >>> mapped_of({"rows_read": 1205, "rows_mapped": 1200}, {"bin": 10})
    'all or all but fewer than 11 of 1,205 rows'
    """
    read, mapped = ledger["rows_read"], ledger["rows_mapped"]
    said = in_sentence(mapped, rounding)
    if rounding and mapped is not None and mapped >= read - rounding["bin"]:
        said = f"all or all but fewer than {rounding['bin'] + 1}"
    return f"{said} of {counted(read, 'rows')}"


def none_refused(ledger: Mapping[str, Any], rounding: Rounded) -> str:
    """What is said of refused rows where no reason is listed: of told counts, that they are few.

    >>> none_refused({"rows_mapped": 1200}, None), none_refused({"rows_mapped": 5}, {"bin": 10})
    ('none', 'fewer than 11 for any reason')
    """
    if ledger["rows_mapped"] is None:
        return "few for any reason"
    return f"fewer than {rounding['bin'] + 1} for any reason" if rounding else "none"


def whole(n: int, total: str, rounding: Rounded) -> int:
    """A count of which others are parts: the total of this name where it may be all of that.

    >>> whole(1495, "rows", {"bin": 10, "totals": {"rows": 1500}}), whole(1495, "rows", None)
    (1500, 1495)
    """
    of: int | None = rounding["totals"].get(total) if rounding else None
    return of if of and rounding and Bins(rounding["bin"], of).all_but_few(n) else n


def looked_at(check: Mapping[str, Any], rounding: Rounded) -> str:
    """What a check looked at, or why it did not; its unit alone where the number is not told."""
    if check["reason"]:
        return str(check["reason"])
    n, unit = check["denominator"], str(check["denominator_unit"])
    if n is None:
        return unit
    rounding = rounding if "denominator" in check["counts"] else None
    n = whole(n, unit.partition(" ")[0], rounding)
    if n < 1_000_000:
        return told(n, unit, rounding)
    return f"{n / 1e6:,.1f} million {unit}"


def rounding_of(view: Mapping[str, Any]) -> Rounded:
    """How counts of a view are rounded, of a comparison those of its new run; else None."""
    found: Rounded = view.get("rounding")
    new: Rounded = found.get("new", found) if found else None
    return new
