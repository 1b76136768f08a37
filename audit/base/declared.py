"""What a table, its columns, and the numbers of a finding are: declared once, by their kinds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypedDict, Unpack

from audit.base.figures import Figure, read_figure

if TYPE_CHECKING:
    import polars as pl


Kind: TypeAlias = Literal[
    "text", "whole", "setting", "exact", "count", "sum", "mean", "factor", "estimate",
    "share", "ratio", "difference", "end", "chance", "metric",
]  # fmt: skip
"""What a column holds. Told as they are: ``text`` (ids, titles, flags, days), ``whole`` numbers of
a hierarchy or a file, ``setting`` and, with a reason, ``exact``. Told in bins: ``count`` and
``sum``. In steps: ``mean``. In two digits: ``factor`` and ``estimate``. Computed from told ones:
``share``, ``ratio``, ``difference``, and ``end``, an end of the interval of one of these. For the
window alone: ``chance``, whatever follows from a test. ``metric``: of the metric that the row
names, which says how it is told and written."""

_OF_KIND: Mapping[str, str] = {
    "text": "string",
    **dict.fromkeys(("whole", "setting", "exact", "count", "sum"), "integer"),
}
"""What columns of a kind hold where they do not say it themselves; those of others numbers."""

NONE = "none"
"""Total of what has none, such as labels and exchanges."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What is drawn in the cell of a number: a dot, and its interval where the column has ends.

    A share is drawn from 0 to 1, a ratio on a logarithmic scale with a line at 1, a difference
    around 0, any other from 0 to the largest number shown.

    Args:
        limit: Column with the limit that the number is held against; empty for none.
        reference: Column with what stands beside it, such as what chance would give.
    """

    limit: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, or a number of a finding.

    Args:
        name: What tables and JSON call it.
        kind: What it holds.
        of: Names of the columns that it is computed from: k and n of a share, k and expectation of
            a ratio, both shares of a difference, both supports of a factor, n of a mean or an
            estimate, the estimate of an end. Of a count that it is never told above, such as the
            instances of some groups.
        total: What a count is part of: ``rows, instances, groups``, another total of its
            analysis, or `NONE`.
        effective: Column with the effective number behind a share or a ratio; empty if none is.
        low: Least value of a mean.
        high: Greatest value of a mean.
        side: -1 for a lower end, 1 for an upper one.
        reason: Why it may be told as it is.
        heading: What stands above it in reports; a column without one is in exports and in the
            window alone.
        title: Of a column of nodes, the column with their titles.
        ends: Columns with the ends of its interval, the lower one first; empty without one.
        type: ``string, boolean, array, integer`` or ``number`` where its kind does not say it.
        words: Whether its texts are of a fixed list and not of a file: ``_`` is written as a blank.
        among: The count that a cell names behind this one: "935 of 1,345".
        unit: ``%`` of a number that is written in per cent though it is no share; ``points`` of the
            difference of two values of a metric.
        mark: What is drawn in its cells; None for nothing.
    """

    name: str
    kind: Kind
    of: tuple[str, ...] = ()
    total: str = ""
    effective: str = ""
    low: float = 0.0
    high: float = 1.0
    side: int = 0
    reason: str = ""
    heading: str = ""
    title: str = ""
    ends: tuple[str, ...] = ()
    type: str = ""
    words: bool = False
    among: str = ""
    unit: str = ""
    mark: Mark | None = None

    @property
    def holds(self) -> str:
        """The type of its values as JSON names it: ``type``, else that of its kind."""
        return self.type or _OF_KIND.get(self.kind, "number")


class Columns(dict[str, Column]):
    """Columns by name, in order.

    >>> list(Columns(count("instances of"), share("share", of="instances of", ends="low high")))
    ['instances', 'of', 'share', 'low', 'high']
    """

    def __init__(self, *columns: Iterable[Column]) -> None:
        super().__init__((one.name, one) for some in columns for one in some)

    @property
    def types(self) -> dict[str, pl.DataType]:
        """The Polars type of each column, for the frames that are measured.

        >>> Columns(text("node"), count("n")).types
        {'node': String, 'n': Int64}
        """
        import polars as pl

        types = {
            "string": pl.String(),
            "boolean": pl.Boolean(),
            "array": pl.List(pl.String()),
            "integer": pl.Int64(),
            "number": pl.Float64(),
        }
        return {name: types[one.holds] for name, one in self.items()}

    def stored(self) -> list[dict[str, Any]]:
        """The columns as JSON, each without what is as usual."""
        return [_as_json(one) for one in self.values()]

    @classmethod
    def read(cls, stored: Iterable[Mapping[str, Any]]) -> Self:
        """The columns that were `stored`.

        >>> kept = Columns(count("n"), mean("rate", n="n", ends="low high"))
        >>> Columns.read(kept.stored()) == kept
        True
        """
        return cls(map(_read_column, stored))


def _read_column(stored: Mapping[str, Any]) -> Column:
    lists = {name: tuple(one) for name, one in stored.items() if isinstance(one, list)}
    mark = {"mark": Mark(**stored["mark"])} if "mark" in stored else {}
    return Column(**{**stored, **lists, **mark})


def _as_json(value: Any) -> Any:
    """What is declared as JSON, a column and a table without what is as usual."""
    if isinstance(value, Column | Table):
        own = [(one, getattr(value, one.name)) for one in fields(value)]
        return {one.name: _as_json(told) for one, told in own if told != one.default}
    if isinstance(value, Columns | Figure):
        return value.stored()
    if isinstance(value, tuple):
        return [*map(_as_json, value)]
    return asdict(value) if isinstance(value, Mark) else value


@dataclass(frozen=True)
class Table:
    """A table: what its rows and columns are, what is shared of it, and how it is shown.

    Args:
        columns: What each of them holds, in the order in which they are shared.
        title: What stands above it; a table without one is in exports and in the window alone.
        row: What a row is, such as "a parent"; for the window and the documentation.
        most: Number of rows that are shared, the first ones; None for all.
        each: The column of whose values so many rows are shared each; empty for the whole table.
        records: Whether rows are single records, or chosen by exact numbers: they are shared only
            where every count is told as it is.
        order: The column that rows are listed by, the largest counts or the least of other numbers
            first. Where counts are told in bins they are listed by what is told, then by texts.
        listed: The count that rows are there for: where it is in the first class they are left out;
            ``instances`` in a table of nodes.
        first: Number of rows that a report shows.
        fold: Whether a report shows it folded.
        across: The column whose values become columns of the report, each with the numbers of its
            rows; empty for none.
        figures: What is drawn of it.
        headline: The column that comparisons follow; empty for none.
    """

    columns: Columns
    title: str = ""
    row: str = ""
    most: int | None = None
    each: str = ""
    records: bool = False
    order: str = ""
    listed: str = ""
    first: int = 10
    fold: bool = False
    across: str = ""
    figures: tuple[Figure, ...] = ()
    headline: str = ""

    def __post_init__(self) -> None:
        """Nodes are there for their instances."""
        if {"node", "instances"} <= self.columns.keys():
            object.__setattr__(self, "listed", "instances")

    def frame(self, rows: Iterable[Mapping[str, Any]] = ()) -> pl.DataFrame:
        """Rows as a frame of its columns; what a row lacks is null."""
        import polars as pl

        return pl.DataFrame(list(rows), schema=self.columns.types)

    def cast(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Its columns of a frame, in order, and of their types."""
        return frame.select(frame[name].cast(kind) for name, kind in self.columns.types.items())

    def stored(self) -> dict[str, Any]:
        """As JSON, which `read` reads, without what is as usual.

        >>> kept = Table(Columns(text("node"), count("n")), title="Nodes", first=5)
        >>> Table.read(kept.stored()) == kept
        True
        """
        made: dict[str, Any] = _as_json(self)
        return made

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """The table that was `stored`."""
        figures = tuple(map(read_figure, stored.get("figures", ())))
        return cls(**{**stored, "columns": Columns.read(stored["columns"]), "figures": figures})


def text(names: str, heading: str = "") -> tuple[Column, ...]:
    """Columns of ids, titles, words, flags and days of a file, a policy or a hierarchy.

    Here as below, ``names`` are divided by spaces, and their headings by ``|``; what stands without
    a heading is not shown in reports.

    >>> [(one.name, one.heading) for one in text("a b", "Node|With")]
    [('a', 'Node'), ('b', 'With')]
    """
    return _each(names, "text", heading)


def key(names: str, heading: str = "") -> tuple[Column, ...]:
    """Columns of words of a fixed list, such as the names of tests."""
    return _each(names, "text", heading, words=True)


def flag(names: str, heading: str = "") -> tuple[Column, ...]:
    """Columns of true and false, of a file or a hierarchy and not of a test."""
    return _each(names, "text", heading, type="boolean")


def texts(names: str, heading: str = "") -> tuple[Column, ...]:
    """Columns of lists of ids or words."""
    return _each(names, "text", heading, type="array")


def node(names: str, heading: str = "", *, title: str) -> tuple[Column, ...]:
    """Columns of nodes, then those of their titles, which reports show beside the nodes alone."""
    titles = title.split()
    named = zip(_each(names, "text", heading), titles, strict=True)
    return (*(replace(one, title=beside) for one, beside in named), *text(title))


def whole(names: str, heading: str = "") -> tuple[Column, ...]:
    """Columns of whole numbers that count no persons: depths, nodes of a hierarchy, tuples."""
    return _each(names, "whole", heading)


def setting(names: str, heading: str = "", *, type: str = "") -> tuple[Column, ...]:
    """Columns of numbers that a policy, a file or a hierarchy states, such as limits."""
    return _each(names, "setting", heading, type=type)


def exact(names: str, heading: str = "", *, reason: str, of: str = "") -> tuple[Column, ...]:
    """Columns of counts of persons that may be told as they are: the totals of sharing.

    ``of`` names a total that is told in its class where it would give a small count away.
    """
    return _each(names, "exact", heading, total=of, reason=reason)


def count(
    names: str, heading: str = "", *, of: str = "instances", under: str = "", among: str = ""
) -> tuple[Column, ...]:
    """Columns of counts, parts of the total ``of``; told as at most the told count ``under``."""
    return _each(names, "count", heading, of=under, total=of, among=among)


def total(names: str, heading: str = "", *, under: str = "", type: str = "") -> tuple[Column, ...]:
    """Columns of sums, parts of no total; told as at most the told count ``under``, if named."""
    return _each(names, "sum", heading, of=under, total=NONE, type=type)


class Shown(TypedDict, total=False):
    """How a measured number is shown, as `Column` says; ``ends`` are divided by a space."""

    ends: str
    effective: str
    unit: str
    mark: Mark | None


def mean(
    names: str,
    heading: str = "",
    *,
    n: str,
    low: float = 0.0,
    high: float = 1.0,
    **shown: Unpack[Shown],
) -> tuple[Column, ...]:
    """Columns of means, over ``n`` instances, of values from ``low`` to ``high``."""
    return _each(names, "mean", heading, of=n, low=low, high=high, **shown)


def factor(name: str, heading: str = "", *, of: str) -> tuple[Column, ...]:
    """A column of expected joint supports of pairs; ``of`` names the columns of both supports."""
    return _each(name, "factor", heading, of=of)


def estimate(
    names: str, heading: str = "", *, n: str = "", reason: str, **shown: Unpack[Shown]
) -> tuple[Column, ...]:
    """Columns of numbers that no count follows from, told in two digits where each n is large.

    ``ends`` names the ends of the interval of a single one, which are told as it is.
    """
    return _each(names, "estimate", heading, of=n, reason=reason, **shown)


def share(name: str, heading: str = "", *, of: str, **shown: Unpack[Shown]) -> tuple[Column, ...]:
    """A column of shares: ``of`` names the column of the part, then that of the whole."""
    return _each(name, "share", heading, of=of, **shown)


def ratio(name: str, heading: str = "", *, of: str, **shown: Unpack[Shown]) -> tuple[Column, ...]:
    """A column of ratios: ``of`` names the count, then the expectation or count it is held to."""
    return _each(name, "ratio", heading, of=of, **shown)


def difference(
    name: str, heading: str = "", *, of: str, **shown: Unpack[Shown]
) -> tuple[Column, ...]:
    """A column of differences: ``of`` names the share, then the one that is taken from it."""
    return _each(name, "difference", heading, of=of, **shown)


def metric(
    name: str, heading: str = "", *, by: str, n: str, **shown: Unpack[Shown]
) -> tuple[Column, ...]:
    """A column of values of metrics, each named in the column ``by``, over ``n`` instances."""
    return _each(name, "metric", heading, of=f"{by} {n}", **shown)


def chance(
    names: str, heading: str = "", *, type: str = "", **shown: Unpack[Shown]
) -> tuple[Column, ...]:
    """Columns of p and q values, verdicts, and other numbers of tests."""
    return _each(names, "chance", heading, type=type, words=True, **shown)


def _each(
    names: str, kind: Kind, heading: str = "", *, of: str = "", ends: str = "", **own: Any
) -> tuple[Column, ...]:
    """A column for each name; the last may have an interval, whose ends follow it."""
    headings = [*heading.split("|"), *[""] * len(names.split())]
    named = zip(names.split(), headings, strict=False)
    made = [Column(name, kind, tuple(of.split()), heading=above, **own) for name, above in named]
    if ends:
        last = made[-1]
        made[-1] = replace(last, ends=tuple(ends.split()))
        for end, side in zip(ends.split(), (-1, 1), strict=True):
            between = Column(end, "end", (last.name,), side=side)
            alike = replace(last, name=end, heading="", mark=None, words=False)
            made.append(alike if kind in ("estimate", "chance") else between)
    return tuple(made)


def finite(value: float | None) -> float | None:
    """A number as JSON has it: None where it is not finite."""
    return value if value is not None and math.isfinite(value) else None


def schema(*groups: tuple[str, Any]) -> dict[str, Any]:
    """Columns with their types, in order, from names between blanks that share a type.

    >>> schema(("node parent", str), ("support", int))
    {'node': <class 'str'>, 'parent': <class 'str'>, 'support': <class 'int'>}
    """
    return {name: kind for names, kind in groups for name in names.split()}
