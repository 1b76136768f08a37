"""Records for the templates: formatted texts without HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias

from audit.base.plurals import title_and_code


@dataclass(frozen=True, slots=True)
class Node:
    """A node: its id, and its title, or that of the nearest node above that has one."""

    kind: ClassVar[str] = "node"
    id: str
    title: str = ""
    below: str = ""

    @property
    def text(self) -> str:
        """The node as sentences write it."""
        return title_and_code(self.id, self.title)


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
class Linked:
    """A text that leads to another place of the report."""

    kind: ClassVar[str] = "linked"
    text: str
    to: str


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
class Unfolding:
    """A cell that unfolds to show a sentence."""

    kind: ClassVar[str] = "unfolding"
    shown: Cell
    sentence: str


@dataclass(frozen=True, slots=True)
class Bar(Ranged):
    """A share as a bar, with its interval and the limit as a line; each from 0 to 1, or None."""

    kind: ClassVar[str] = "bar"
    at: float
    low: float | None
    high: float | None
    limit: float | None


@dataclass(frozen=True, slots=True)
class Codes:
    """Several names in one cell, set as code."""

    kind: ClassVar[str] = "codes"
    texts: tuple[str, ...]


Facts: TypeAlias = tuple[tuple[str, str], ...]
"""Names and what is said under each."""
Cell: TypeAlias = (
    str | Node | Nodes | Badge | Judged | Code | Codes | Linked | Named | Ranged | Unfolding
)


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
class PartLine:
    """A part of a finding: its nodes or codes, and its numbers in words."""

    nodes: tuple[Node, ...]
    text: str


@dataclass(frozen=True, slots=True)
class FindingLine:
    """A finding in a line, and what unfolds below it.

    Args:
        cells: What the columns of its check say of it, by their headings.
        explanation: What follows the headline: further sentences, and what was decided on it.
        numbers: Every number that the line does not have, by name.
        more_parts: Whether it has parts that are not told.
        lineage: Ids of its nodes and of all that the picture of the hierarchy has above them.
    """

    anchor: str
    id: str
    badge: Badge
    cells: tuple[tuple[str, Cell], ...]
    headline: str
    explanation: str
    numbers: Facts
    parts: tuple[PartLine, ...]
    more_parts: bool
    lineage: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """What who publishes and who uses the data should do; ``whose`` says for which findings."""

    curator: str
    data_user: str
    whose: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A check with its findings: what it asks, the advice, and a row for each finding.

    ``total`` is the number of findings; ``table`` has the rows as they are printed, with the ids.
    """

    check: str
    title: str
    badge: Badge
    total: str
    sentence: str
    advice: tuple[Advice, ...]
    findings: tuple[FindingLine, ...]
    table: Table


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a figure's legend: a colour role and what it stands for."""

    role: str
    text: str
    shape: str = "square"


@dataclass(frozen=True, slots=True)
class Drawing:
    """The content of an ``svg`` element, and its size in pixels.

    ``lines`` of equal height, with labels at the left and texts at the right: ``count``, and in
    pixels ``height, top, left, right``. A narrow screen shows both above what is drawn.
    """

    width: int
    height: int
    markup: str = field(repr=False)
    lines: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure: drawing, text alternative, and table of its numbers."""

    id: str
    title: str
    drawing: Drawing
    alt: str
    caption: str
    key: tuple[Key, ...]
    table: Table
    key_title: str = "Each line"


@dataclass(frozen=True, slots=True)
class Chapter:
    """Pictures, and the tables under them."""

    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]


def chapter(figures: Iterable[Figure | None], tables: Iterable[Table | None]) -> Chapter | None:
    """A chapter of what there is, without tables that stand behind a figure; None if empty."""
    drawn = tuple(figure for figure in figures if figure is not None)
    behind = [figure.table for figure in drawn]
    shown = tuple(table for table in tables if table is not None and table not in behind)
    return Chapter(drawn, shown) if drawn or shown else None


@dataclass(frozen=True, slots=True)
class First:
    """A finding to act on first: what it is, how many it concerns, their share, what to do.

    ``anchor`` is where it stands in the report; ``to_do`` is empty where the one before says it.
    """

    id: str
    check: str
    anchor: str
    severity: str
    tone: str
    what: str
    how_many: str
    share: str
    to_do: str

    @property
    def more(self) -> str:
        """What stands below the sentence: what it does not say itself."""
        said = _in_signs(self.what.lower())
        told = {self.how_many: "", self.share: "share " * ("%" in self.share)}
        numbers = (what + one for one, what in told.items() if _in_signs(one) not in said)
        return " · ".join(filter(None, (*numbers, self.to_do)))


def _in_signs(text: str) -> str:
    return text.replace("fewer than ", "<")


@dataclass(frozen=True, slots=True)
class ModelVerdict:
    """What a hurried reader takes along of a model; the sentence may be empty."""

    sentence: str
    table: Table


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of an audit in a word, and what a hurried reader takes along.

    ``sentence`` counts the results of the checks, ``first`` are the findings to act on, and
    ``beyond`` says of checks that they have more than anybody can act on.
    """

    badge: Badge
    sentence: str
    first: tuple[First, ...] = ()
    beyond: tuple[str, ...] = ()
    model: ModelVerdict | None = None
