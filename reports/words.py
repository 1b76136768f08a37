"""How reports write names, numbers and what is said of a run."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, TypeAlias

from audit.base.plurals import percentage
from audit.results import metric_list as metrics
from audit.results.printed import Rounded, decimals_of, said_at_head
from audit.results.printed import cell as count_cell
from audit.sharing.told import Rounding
from audit.sharing.words import share_said

Row: TypeAlias = Mapping[str, Any]
NOTHING = "–"
"""What stands where there is no number, or none is told."""
EXACT = "Exact numbers: for those who may see the records; not to be shared"
"""The band on pages of exact numbers."""
MARKS = "Pale bars are 95% intervals, brown lines limits."
"""What the marks in cells are, once on each page that has some."""
SEVERITY: Mapping[str, str] = {"error": "Error", "warning": "Warning", "note": "Note"}
STATUS: Mapping[str, str] = {
    "error": "did not run",
    "fail": "error",
    "warn": "warning",
    "note": "note",
    "pass": "nothing found",
    "not_applicable": "not applicable",
}
TONE: Mapping[str, str] = {"fail": "error", "warn": "warning"}
"""The severity that a status shows, where their names differ."""
METRICS: Mapping[str, str] = {one.name: one.heading for one in (*metrics.METRICS, *metrics.BESIDE)}
"""Titles of metrics, in the order of reports."""
DECIMALS: Mapping[str, int] = {
    one.name: one.decimals
    for one in (*metrics.METRICS, *metrics.BESIDE)
    if one.decimals is not None
}
"""Decimals of the metrics that are no shares."""


def name(identifier: str) -> str:
    """A name of a check, a reason or a setting in words.

    >>> name("not_in_hierarchy")
    'not in hierarchy'
    """
    return identifier.replace("_", " ")


def node(identifier: str, title: str | None) -> str:
    """A node as sentences and tables name it.

    >>> node("428", "Heart failure"), node("cat", None)
    ('Heart failure (428)', 'cat')
    """
    return f"{title} ({identifier})" if title and title != identifier else identifier


def number(value: float | None, digits: int = 3) -> str:
    """A number that is told as it is; one with a fraction in so many significant digits.

    >>> number(52722), number(1.5), number(0.000123456), number(1234.5), number(None)
    ('52,722', '1.5', '0.000123', '1,234', '–')
    """
    if value is None:
        return NOTHING
    if isinstance(value, int) or abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}".replace("-", "−")
    text = f"{value:.{digits}g}".replace("-", "−")
    return text if "e" not in text else text.replace("e−0", "e−").replace("e+0", "e")


def count(value: int | None, rounding: Rounded) -> str:
    """A count in a table.

    >>> count(5, {"bin": 10}), count(1235, {"bin": 10}), count(None, None)
    ('<11', '1,235', '–')
    """
    return count_cell(value, rounding) or NOTHING


def percent(share: float | None, n: int | None, rounding: Rounded) -> str:
    """A share of n told instances, in the digits that n allows.

    >>> percent(0.6952, 1345, {"bin": 10}), percent(0.6952, None, None), percent(None, 1, None)
    ('69.5%', '69.5%', '–')
    >>> percent(-0.012, None, None)
    '−1.2%'
    """
    if share is None:
        return NOTHING
    size = abs(share)
    text = share_said(size, n, Rounding(rounding["bin"])) if rounding else percentage(size)
    return f"−{text}" if share < 0 else text


def points(difference: float | None, n: int | None, rounding: Rounded) -> str:
    """A difference of shares in percentage points, with its sign.

    >>> points(0.1032, None, None), points(-0.0004, 935, {"bin": 10}), points(None, 1, None)
    ('+10.3', '0', '–')
    """
    if difference is None:
        return NOTHING
    text = f"{100 * abs(difference):.{decimals_of(n) if rounding else 1}f}"
    sign = "" if not float(text) else "+" if difference > 0 else "−"
    return sign + text


def listed(items: Sequence[str], most: int = 7) -> str:
    """Items as a sentence lists them, and how many there are beyond the first.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], 1)
    ('a, b and c', 'a and 2 more')
    """
    shown = [*items[:most]]
    if len(items) > most:
        shown.append(f"{len(items) - most:,} more")
    return " and ".join(filter(None, [", ".join(shown[:-1]), *shown[-1:]]))


def printable(value: Any) -> Any:
    """The same structure, with every text fit to stand on a page.

    Characters that would control the page instead of being printed on it, overrides of direction
    and lone surrogates each become a replacement character; line ends and tabs become spaces.
    """
    if isinstance(value, str):
        return value if value.isprintable() else "".join(map(_printable, value))
    if isinstance(value, Mapping):
        return {printable(key): printable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [printable(inner) for inner in value]
    return value


_ORDERS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def _printable(character: str) -> str:
    """A blank for a line end or tab, U+FFFD for what is never printed, else the same."""
    if character in "\t\n\r":
        return " "
    category = unicodedata.category(character)
    orders = unicodedata.bidirectional(character) in _ORDERS
    return "\ufffd" if category in ("Cc", "Cs", "Cn") or orders else character


@dataclass(frozen=True, slots=True)
class Imprint:
    """What a report says of itself that ``result.json`` does not, since it stays the same later.

    Args:
        title: The title that was given; empty for the policy's, or the name of what was read.
        name: Name of the file or folder that was read; empty where there is none.
        day: Day of the run; None where it is not known.
        exact: Whether it is of exact numbers that are rounded in what is shared.
    """

    title: str = ""
    name: str = ""
    day: date | None = None
    exact: bool = False

    def named(self, data: Row) -> str:
        """Its own title, else the policy's in ``data``, else the name of what was read; or "".

        >>> Imprint(name="release_2").named({"title": ""})
        'release_2'
        """
        return str(self.title or data["title"] or self.name)

    @property
    def date(self) -> str:
        """The day of the run in words; empty where it is not known."""
        return f"{self.day.day} {self.day:%B %Y}" if self.day else ""

    def stated(self, tool: str, rounding: Rounded) -> str:
        """The day of the run where it is known, the version, and how counts are told.

        >>> Imprint().stated("hierarchy-audit 1.0", None)
        'hierarchy-audit 1.0 · Counts are exact.'
        """
        counts = said_at_head(rounding) or "Counts are exact."
        return " · ".join(filter(None, [self.date, tool, counts]))

    def printable(self) -> Imprint:
        """The imprint with every text fit to stand on a page."""
        return replace(self, title=printable(self.title), name=printable(self.name))


UNNAMED = Imprint()
"""Of a report that is made without a run."""
