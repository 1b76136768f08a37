"""Wording of names and nodes, formatting of numbers, and words stated in files of data."""

from __future__ import annotations

import math
import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from importlib.resources import files
from itertools import accumulate
from typing import Any, TypeAlias, TypeVar

from audit.results.printed import (
    Count,
    Rounded,
    Share,
    decimals_of,
    in_sentence,
    percent_of,
    said_at_head,
)

T = TypeVar("T")


def stated_tables(name: str) -> Mapping[str, Any]:
    """The tables of ``<name>.toml``, each in the order in which a report shows its lines."""
    return tomllib.loads(_text(f"{name}.toml"))


def pairs(table: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, str]]:
    """A table of two texts a line."""
    return {name: (first, second) for name, (first, second) in table.items()}


def records(table: Mapping[str, Sequence[str]], record: Callable[..., T]) -> dict[str, T]:
    """A table of several texts a line as records that are made of them."""
    return {name: record(*texts) for name, texts in table.items()}


def _text(name: str) -> str:
    return files("audit._reports.words").joinpath("data", name).read_text("utf-8")


_STATED = stated_tables("words")

Value: TypeAlias = int | float | str | None
"""A number of a view, a text, or null for what has no value or is not told."""

UNDEFINED = "–"
"""Text of null."""

EXACT = "Exact numbers: for those who may see the records; not to be shared"
"""The band on pages of exact numbers."""

EVIDENCE: dict[str, str] = _STATED["evidence"]
"""Words for names of evidence; an unknown name is shown without underscores."""

STATUS: Mapping[str, str] = _STATED["status"]
SEVERITY: Mapping[str, str] = {"error": "Error", "warning": "Warning", "note": "Note"}
SEVERITIES = tuple(SEVERITY)
TONE: Mapping[str, str] = {
    "error": "error",
    "fail": "error",
    "warn": "warning",
    "warning": "warning",
    "note": "note",
    "pass": "pass",
}
"""Colour role of each status and severity; ``plain`` for any other."""

REFUSED: Mapping[str, str] = _STATED["refused"]
RELATION: Mapping[str, str] = _STATED["relation"]
DECISION: Mapping[str, str] = _STATED["decision"]
BRANCH_RULE: Mapping[str, str] = _STATED["branch_rule"]

_PERCENTS = ("share", "share_limit", "rate", "carrying")
_BOUNDS = ("low", "high", "limit")
_LEAST_P = 0.0001
"""Smallest p value that is written out."""


def words(name: str, table: Mapping[str, str] | None = None) -> str:
    """A name in words: from the table, else with underscores replaced by spaces."""
    return (EVIDENCE if table is None else table).get(name, name.replace("_", " "))


def percent(share: float | None) -> str:
    """A share as a percentage.

    >>> percent(0.1234), percent(None)
    ('12.3%', '–')
    """
    return UNDEFINED if share is None else percent_of(share)


SENTENCE_END = re.compile(r"(?:(?<=[a-z0-9)%]{3})|(?<=[0-9)%]))\.(?= )")
"""The point at the end of a sentence; a shorter word before one is an abbreviation."""


def among(part: str, total: Value) -> str:
    """A count with what it is a part of; alone where of that no more is known than the count.

    >>> among("683", 683), among("683", None), among("<11", Count(5, {"bin": 10}))
    ('683 of 683', '683', '<11')
    """
    few = isinstance(total, Count) and total.few
    return part if total is None or few else f"{part} of {number(total)}"


def number(value: Value) -> str:
    """A published value as a reader would write it.

    >>> number(52722), number(1.5), number(0.00012), number(1e-5), number(None)
    ('52,722', '1.5', '0.00012', '0.00001', '–')
    """
    if value is None:
        return UNDEFINED
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    if value.is_integer():
        return f"{value:,.0f}"
    if abs(value) < 0.01:
        return f"{value:.{1 - math.floor(math.log10(abs(value)))}f}".rstrip("0")
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def points(difference: float | None) -> str:
    """A difference of two shares in percentage points, with its sign.

    >>> points(0.1032), points(-0.0004), points(0.0), points(None), points(Share(0.1032, 935))
    ('+10.3', '−0.04', '0.0', '–', '+10')
    """
    if difference is None:
        return UNDEFINED
    value = 100 * difference
    text = f"{abs(value):.1f}" if abs(value) >= 0.1 or not value else f"{abs(value):.2g}"
    if isinstance(difference, Share):
        text = f"{abs(value):.{decimals_of(difference.n)}f}"
    return text if not float(text) else f"{'+' if value > 0 else '−'}{text}"


def decimal(value: float | None, places: int) -> str:
    """A number with a fixed number of decimals, so that a column lines up; told counts have none.

    >>> decimal(1.5, 2), decimal(None, 2)
    ('1.50', '–')
    """
    if value is None:
        return UNDEFINED
    return f"{value:,}" if isinstance(value, Count) else f"{value:,.{places}f}"


def tenths(value: float | None) -> str:
    """A number with one decimal."""
    return decimal(value, 1)


def precise(value: float) -> str:
    """A number with three decimals; one that would be 0 there, with two digits.

    >>> precise(0.5), precise(4.69e-18), precise(-1234.5), precise(0.0)
    ('0.500', '4.7e-18', '−1,234.500', '0.000')
    """
    size = abs(value)
    text = f"{size:.2g}" if 0 < size < 0.0005 else decimal(size, 3)
    return f"−{text}" if value < 0 else text


def ratio(value: float) -> str:
    """A ratio as written in a finding's sentence."""
    return decimal(value, 2)


_SPECIAL: Mapping[str, Callable[[float], str]] = {"ratio": ratio, "difference": points}
"""Formats of evidence that is neither a count nor a share, also used for its bounds."""


def evidence_value(name: str, value: Value, evidence: Mapping[str, Value]) -> str:
    """One value of a finding's evidence; shares, and the bounds beside one, as percentages.

    The smallest p values are written as a bound.

    >>> evidence_value("q_value", 3e-24, {})
    'below 0.0001'
    >>> evidence_value("ratio", 28.2, {}), evidence_value("difference_low", 0.116, {})
    ('28.20', '+11.6')
    """
    kind = name.removesuffix("_low").removesuffix("_high")
    if kind in _SPECIAL and isinstance(value, int | float):
        return _SPECIAL[kind](value)
    if name in ("p_value", "q_value") and isinstance(value, int | float) and value < _LEAST_P:
        return f"below {_LEAST_P}"
    is_share = name.endswith(_PERCENTS)
    is_bound = name in _BOUNDS and any(other.endswith(_PERCENTS) for other in evidence)
    if (is_share or is_bound) and isinstance(value, int | float):
        return percent(value)
    return number(value)


def span(low: str, high: str) -> str:
    """An interval in words.

    >>> span("1%", "2%"), span("–", "–")
    ('1% to 2%', '–')
    """
    return UNDEFINED if UNDEFINED in (low, high) else f"{low} to {high}"


def counted(n: int, one: str, many: str | None = None) -> str:
    """A count in a sentence, with its noun.

    >>> counted(1, "check"), counted(1200, "branch", "branches")
    ('1 check', '1,200 branches')
    """
    return f"{in_sentence(n)} {one if n == 1 else many or one + 's'}"


def listed(items: list[str]) -> str:
    """Items as a sentence lists them.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def capitalised(text: str) -> str:
    """A text with a capital at its beginning, and everything behind it as it is.

    >>> capitalised("mean of nodes with ICD codes")
    'Mean of nodes with ICD codes'
    """
    return text[:1].upper() + text[1:]


def first_of(clauses: Sequence[str]) -> str:
    """The first six clauses of a text alternative, and how many others its table has.

    >>> first_of(["a 1", "b 2"]), first_of(list("abcdefgh"))
    ('a 1; b 2', 'a; b; c; d; e; f; and 2 more in the table')
    """
    rest = len(clauses) - 6
    return "; ".join(clauses[:6]) + (f"; and {rest} more in the table" if rest > 0 else "")


def more_in_table(n: int, one: str) -> str:
    """A sentence on what a picture has no room for; empty if it has.

    >>> more_in_table(2, "line"), more_in_table(0, "line")
    (' The table has 2 lines more.', '')
    """
    return f" The table has {counted(n, one)} more." if n > 0 else ""


def shortened(text: str, width: int) -> str:
    """Text cut to a width in columns, wide characters counting two.

    >>> shortened("hypertension", 8), shortened("heart", 8)
    ('hyperte…', 'heart')
    """
    if columns_of(text) <= width:
        return text
    kept = sum(end < width for end in accumulate(map(columns_of, text)))
    return text[:kept].rstrip(" ,;:(") + "…"


def columns_of(text: str) -> int:
    """Width of a text in columns of a monospaced font, wide characters counting two.

    >>> columns_of("heart"), columns_of("心臓")
    (5, 4)
    """
    wide = 0 if text.isascii() else sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide


def printable(text: str) -> str:
    """Replace the characters of a text that would control a page instead of being printed on it.

    Control characters, the direction overrides that could reorder what stands around, and
    lone surrogates each become a replacement character; line ends and tabs become spaces.
    """
    if text.isprintable():  # no control, no override, no surrogate, nothing unassigned
        return text
    return "".join(_printable(character) for character in text)


def _printable(character: str) -> str:
    if character in "\t\n\r":
        return " "
    category = unicodedata.category(character)
    orders = unicodedata.bidirectional(character) in _ORDERS
    return "\ufffd" if category in ("Cc", "Cs", "Cn") or orders else character


_ORDERS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


PAIR_SIDE = 23
"""Greatest width in columns of a node in a pair's label."""


def node_label(node: str, title: str | None, width: int) -> str:
    """Label of a node within a width in columns: id and title, else the title, else both cut.

    Five capitals are drawn as wide as six other letters.

    >>> node_label("428", "Heart failure", 20), node_label("390-459", "Heart and vessels", 20)
    ('428 Heart failure', 'Heart and vessels')
    >>> node_label("428.0", "Congestive heart failure", 20)
    '428.0 Congestive he…'
    """
    both = f"{node} {title or ''}".strip()
    room = width - sum(map(str.isupper, both[:width])) // 5
    fits_alone = title and columns_of(title) <= room < columns_of(both)
    return title if title and fits_alone else shortened(both, room)


def pair_label(row: Mapping[str, Any]) -> str:
    """Label of a pair of nodes, from ids in ``a, b`` and titles in ``title_a, title_b``."""
    sides = (node_label(row[side], row[f"title_{side}"], PAIR_SIDE) for side in ("a", "b"))
    return " × ".join(sides)


@dataclass(frozen=True, slots=True)
class Imprint:
    """What a report says of itself that ``result.json`` does not, since it stays the same later.

    Args:
        name: Name of the file or folder that was read; empty where there is none.
        exact: Whether it is of exact numbers that are rounded in what is shared.
    """

    title: str = ""
    name: str = ""
    day: date | None = None
    exact: bool = False

    def named(self, data: Mapping[str, Any]) -> str:
        """The title that was given, else the policy's, else the name of what was read; or empty.

        >>> Imprint(name="release_2").named({"title": ""})
        'release_2'
        """
        return str(self.title or data["title"] or self.name)

    def stated(self, tool: str, rounding: Rounded) -> tuple[str, ...]:
        """The day of the run where it is known, the version, and how counts are told.

        >>> Imprint().stated("hierarchy-audit 1.0", None)
        ('hierarchy-audit 1.0', 'Counts are exact')
        """
        day = self.day
        counts = said_at_head(rounding) or "Counts are exact"
        return (*([f"{day.day} {day:%B %Y}"] if day else []), tool, counts)

    def printable(self) -> Imprint:
        """The same, every text fit to stand on a page."""
        return replace(self, title=printable(self.title), name=printable(self.name))


UNNAMED = Imprint()
"""Of a report that is made without a run."""
