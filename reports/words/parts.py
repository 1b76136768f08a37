"""Records for the templates: formatted texts without HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its id, and its title if it has one."""

    kind: ClassVar[str] = "node"
    id: str
    title: str = ""

    @property
    def text(self) -> str:
        """Id and title on one line."""
        return f"{self.id} {self.title}".strip()


@dataclass(frozen=True, slots=True)
class Nodes:
    """Several nodes in one cell, and the number of further ones."""

    kind: ClassVar[str] = "nodes"
    nodes: tuple[Node, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class Badge:
    """A status or severity: its word, and the colour role that goes with it."""

    kind: ClassVar[str] = "badge"
    word: str
    tone: str


@dataclass(frozen=True, slots=True)
class Code:
    """A name or a digest, set as code; ``shown`` is its shortened form, if any."""

    kind: ClassVar[str] = "code"
    text: str
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """A text with the corresponding identifier below it."""

    kind: ClassVar[str] = "named"
    text: str
    name: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict with what qualifies it, a line each."""

    kind: ClassVar[str] = "judged"
    badge: Badge
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ranged:
    """A number with its interval below it."""

    kind: ClassVar[str] = "ranged"
    text: str
    interval: str


@dataclass(frozen=True, slots=True)
class Codes:
    """Several names in one cell, set as code."""

    kind: ClassVar[str] = "codes"
    texts: tuple[str, ...]


Cell: TypeAlias = str | Node | Nodes | Badge | Judged | Code | Codes | Named | Ranged


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading, and whether it holds numbers."""

    heading: str
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns; the first cell of a row names it.

    ``total`` is a last row with a sum or remark; ``left_out`` is the number of rows that are not
    printed.
    """

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: tuple[Cell, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick of an axis: its position from 0 to 1, and its text."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a plot; positions are from 0 at the left end of the axis to 1 at the right.

    Args:
        text: What the line shows, in words and numbers.
        mark: A ``bar`` from the left end, a ``dot``, or a ``ring`` for what is expected.
        role: Its colour role.
        at: Position of the value; None if withheld.
        low, high: Ends of its interval; None without one.
        within: Ends of the range of a withheld value; None if the value is shown.
    """

    text: str
    mark: Literal["bar", "dot", "ring"]
    role: str
    at: float | None
    low: float | None = None
    high: float | None = None
    within: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Plot:
    """A small drawing of a finding's evidence: lines over one axis.

    Args:
        lines: Lines from top to bottom.
        ticks: Ticks of the axis.
        alt: Text alternative.
        origin: Position of the neutral value, such as 1 for a ratio.
        limit: Position of the policy's limit; None without one.
        of_all: Whether the axis shows shares, with bars as parts of the whole.
    """

    lines: tuple[Line, ...]
    ticks: tuple[Tick, ...]
    alt: str
    origin: float | None = None
    limit: Tick | None = None
    of_all: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """One finding: its statement as a first sentence and what explains it.

    ``undrawn`` says why there is no plot of its evidence.
    """

    anchor: str
    id: str
    check: str
    check_title: str
    badge: Badge
    headline: str
    explanation: str
    nodes: tuple[Node, ...]
    evidence: tuple[tuple[str, str], ...]
    plots: tuple[Plot, ...]
    undrawn: str
    parts: Table | None
    curator: str
    data_user: str


@dataclass(frozen=True, slots=True)
class More:
    """Findings of one check after the leading ones, as cards and, for the PDF, as lines."""

    check: str
    title: str
    cards: tuple[Card, ...]
    table: Table


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a figure's legend: a colour role and what it stands for."""

    role: str
    text: str
    shape: str = "square"


@dataclass(frozen=True, slots=True)
class Drawing:
    """The content of an ``svg`` element, and its size in pixels."""

    width: int
    height: int
    markup: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: drawing, text alternative, and table of its numbers."""

    id: str
    title: str
    drawing: Drawing
    alt: str
    caption: str
    key_title: str
    key: tuple[Key, ...]
    table: Table


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of an audit, in a word and in a sentence."""

    badge: Badge
    sentence: str


def column(*headings: str, numeric: str = "") -> tuple[Column, ...]:
    """Make columns from headings; ``numeric`` has an ``n`` at the position of each numeric column.

    >>> [c.numeric for c in column("node", "instances", numeric=" n")]
    [False, True]
    """
    marks = numeric.ljust(len(headings))
    return tuple(
        Column(heading, mark == "n") for heading, mark in zip(headings, marks, strict=False)
    )
