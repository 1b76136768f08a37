"""The parts that templates show: plain frozen records, worded and formatted, without HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Node:
    """A node by its id, and its title where it has one."""

    kind: ClassVar[str] = "node"
    id: str
    title: str = ""

    @property
    def text(self) -> str:
        """Both in one line."""
        return f"{self.id} {self.title}".strip()


@dataclass(frozen=True, slots=True)
class Nodes:
    """Several nodes in one cell, and how many more there are."""

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
    """A name or a digest, set in the type of machines; ``shown`` where it is shortened."""

    kind: ClassVar[str] = "code"
    text: str
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """A line with the machine's name for the same thing under it."""

    kind: ClassVar[str] = "named"
    text: str
    name: str


@dataclass(frozen=True, slots=True)
class Codes:
    """Several names in one cell, set in the type of machines."""

    kind: ClassVar[str] = "codes"
    texts: tuple[str, ...]


Cell: TypeAlias = str | Node | Nodes | Badge | Code | Codes | Named


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading, and whether it holds numbers."""

    heading: str
    numeric: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under columns; the first cell of a row names it.

    ``total`` is a last row that sums or closes the others; ``left_out`` says how many rows do not
    stand on paper.
    """

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: tuple[Cell, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Tick:
    """A marked place of an axis, from 0 to 1, and what stands there."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a plot; places run from 0 at the left end of the axis to 1 at the right.

    Args:
        text: What the line shows, in words and numbers.
        mark: A ``bar`` from the left end, a ``dot``, or a ``ring`` for what is expected.
        role: Its colour role.
        at: Where it stands; None where the value is withheld.
        low, high: Ends of its interval; None where there is none.
        within: Ends of the range that a withheld value lies in; None where it is shown.
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
        lines: From above to below.
        ticks: Marks of the axis.
        alt: The same in words.
        origin: Where the value stands that others are held against, such as 1 for a ratio.
        limit: Where the policy's limit stands; None where it has none.
        of_all: Whether the axis is all of something, of which bars are parts.
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

    ``undrawn`` says why nothing is drawn of its evidence.
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
    """Findings of one check after the leading ones, as cards and, for paper, as lines."""

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
    """What stands inside an ``svg`` element, and its size in pixels."""

    width: int
    height: int
    markup: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, what it shows in words, and the numbers behind it."""

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
    """What the audit says, in a word and in a sentence."""

    badge: Badge
    sentence: str


def column(*headings: str, numeric: str = "") -> tuple[Column, ...]:
    """Columns by heading; ``numeric`` has an ``n`` at the place of each that holds numbers.

    >>> [c.numeric for c in column("node", "instances", numeric=" n")]
    [False, True]
    """
    marks = numeric.ljust(len(headings))
    return tuple(
        Column(heading, mark == "n") for heading, mark in zip(headings, marks, strict=False)
    )
