"""The figures of reports: what each draws of a declared table, by the names of its columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias, get_args


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What all figures have: a title, empty where the heading of its table says it; and a column
    with the value that drawn rows have, empty for all rows."""

    title: str = ""
    where: tuple[str, ...] = ()

    def stored(self) -> dict[str, Any]:
        """As JSON, which `read_figure` reads."""
        return {"figure": type(self).__name__, **asdict(self), "where": list(self.where)}


@dataclass(frozen=True, slots=True)
class Dots(_Drawn):
    """A line for each row: a dot, its interval, and what the mark of the column names.

    Args:
        value: The column that is drawn, with the limit and reference of its `Mark`.
        name: Columns that name a line, divided by spaces.
        panel: A column for each of whose values there is a panel of its own.
        series: A column whose values have colours of their own.
        most: Number of lines of a panel, the first ones.
    """

    value: str = ""
    name: str = ""
    panel: str = ""
    series: str = ""
    most: int = 20


@dataclass(frozen=True, slots=True)
class Curve(_Drawn):
    """Values in order, joined: with its interval, a line for each series.

    Args:
        x: Column with numbers, or with texts, which stand in the order of the rows.
        value: The column that is drawn, with the limit and reference of its `Mark`.
        series: Columns for whose values there are lines, divided by spaces.
        panel: A column for each of whose values there is a panel of its own.
    """

    x: str = ""
    value: str = ""
    series: str = ""
    panel: str = ""


@dataclass(frozen=True, slots=True)
class Matrix(_Drawn):
    """A square for each row, shaded by its value, in a grid of two columns of texts.

    Args:
        row: The column that says on which line it stands.
        column: The column that says below which heading.
        value: The number that it is shaded by, and that stands in it.
    """

    row: str = ""
    column: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Graph(_Drawn):
    """Nodes in lines, each below those that lead to it and set in by its depth; an arrow each row.

    Args:
        source: The column with the node that an arrow leads from.
        target: The column with the node that it leads to.
        value: The number that its width stands for.
        most: Number of arrows, the first rows.
    """

    source: str = ""
    target: str = ""
    value: str = ""
    most: int = 30


@dataclass(frozen=True, slots=True)
class Icicle(_Drawn):
    """The hierarchy, each node as high as its number is large, below its parent.

    Args:
        node: The column of the node.
        parent: The column of the node above it; null for the highest.
        value: The number that its height stands for.
        tone: The column with the worst finding of it: ``error, warning, note`` or empty.
        levels: Number of levels that are drawn.
        least: Least share of the whole that a node is drawn with; the rest are one "and others".
    """

    node: str = ""
    parent: str = ""
    value: str = ""
    tone: str = ""
    levels: int = 3
    least: float = 0.01


Figure: TypeAlias = Dots | Curve | Matrix | Graph | Icicle


def read_figure(stored: Mapping[str, Any]) -> Figure:
    """The figure that was stored.

    >>> read_figure(Dots(value="share", name="node").stored())
    Dots(title='', where=(), value='share', name='node', panel='', series='', most=20)
    """
    own: dict[str, Any] = {**stored, "where": tuple(stored["where"])}
    kind: type[Figure] = {one.__name__: one for one in get_args(Figure)}[own.pop("figure")]
    return kind(**own)
