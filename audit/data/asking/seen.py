"""What is seen of a table: its first rows, the values of its columns, which of them are nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from audit.base.table import Table
from audit.data.columns import AS_WRITTEN, Columns, read_as
from audit.data.labels import Nodes, Share, labels_in
from audit.data.records import tidy
from audit.data.rows import FLAGS

WHOLE, PART = 200_000, 50_000
"""Number of rows up to which a table is looked at as a whole, in some seconds if it is wide, and
number of the first rows of a larger one: a share of nine in ten is known to a thousandth of it."""
AT_ONCE, MOST_BYTES = 10_000, 2**28
"""Number of rows that are read at a time, and number of bytes from which on a table is large."""
VALUES = 5_000
"""Number of different values of a column that are looked up among the nodes, at some hundredths of
a millisecond each; a share of nine in ten of them is known to a hundredth."""
NEARLY_ALL, HALF = 0.9, 0.5
"""Shares of nodes by which a column is one of labels, and by which it may be one."""
_DATE = r"^\d{4}-\d\d?-\d\d?(?:[ T].*)?$|^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}(?: .*)?$"
_NAMELESS = re.compile(r"(?:(?:Unnamed: |__UNNAMED__)\d+)?", re.IGNORECASE)
"""What pandas calls the index of a frame that it wrote."""


@dataclass(frozen=True, eq=False)
class Seen:
    """The first rows of a table, and what its columns hold.

    Args:
        table: The table.
        frame: All its rows, or at most `PART` of a large one.
        whole: Whether these are all.
        nodes: The nodes that labels may be.
        stated: What is stated of it; shares are of labels as its spelling reads them.
        classes: Names of class numbers, where the table names none.
    """

    table: Table
    frame: pl.DataFrame
    whole: bool
    nodes: Nodes
    stated: Columns = AS_WRITTEN
    classes: Mapping[str, str] | None = None
    _cells: dict[str, pl.DataFrame] = field(default_factory=dict, init=False)
    _shares: dict[str, Share] = field(default_factory=dict, init=False)

    @classmethod
    def of(
        cls, table: Table, nodes: Nodes, stated: Columns, classes: Mapping[str, str] | None = None
    ) -> Seen:
        """What is seen of a table."""
        frames, rows, size = [pl.DataFrame(schema=dict(table.schema))], 0, 0
        for frame in table.frames(at_once=AT_ONCE):
            frames.append(frame)
            rows, size = rows + frame.height, size + int(frame.estimated_size())
            if rows > WHOLE or size > MOST_BYTES:
                break
        whole = rows <= WHOLE and size <= MOST_BYTES
        every = pl.concat(frames, how="vertical_relaxed")
        return cls(table, every if whole else every.head(PART), whole, nodes, stated, classes)

    def cells(self, column: str) -> pl.DataFrame:
        """``cell, rows``: the different filled cells of a column in order, items of lists."""
        if column not in self._cells:
            values = self.frame[column].explode() if self.is_list(column) else self.frame[column]
            if values.dtype.is_nested() or values.dtype in (pl.Binary, pl.Object):
                values = pl.Series(column, [], pl.String)
            filled = tidy(values.alias("cell").to_frame(), self.table).drop_nulls()
            self._cells[column] = filled.group_by("cell", maintain_order=True).agg(rows=pl.len())
        return self._cells[column]

    def n_values(self, column: str) -> int:
        """Number of different filled cells."""
        return self.cells(column).height

    def n_rows(self, column: str) -> int:
        """Number of filled cells."""
        return int(self.cells(column)["rows"].sum())

    def labels(self, column: str, columns: Columns = AS_WRITTEN) -> Mapping[str, int]:
        """Labels in a column with the number of times that each occurs; classes by their names,
        each of them once where lists say of every class whether it is a label."""
        names = self._class_names(column)
        found = labels_of(self.cells(column), columns, VALUES)
        values = {*map(str.lower, found)}
        if names and self.is_listed(column) and values <= FLAGS:
            return dict.fromkeys(names.values(), 1)
        return {names.get(text.removesuffix(".0"), text): n for text, n in found.items()}

    def rows(self, column: str) -> pl.DataFrame:
        """``row, label``: the labels in a column as stated, row by row; classes by their names."""
        lists = labels_in(self.frame[column], self.stated).alias("label")
        rows = lists.to_frame().with_row_index("row").explode("label").drop_nulls()
        names = self._class_names(column)
        bare = pl.col("label").str.strip_suffix(".0")
        return rows.with_columns(label=bare.replace(names)) if names else rows

    def _class_names(self, column: str) -> Mapping[str, str]:
        own = self.table.class_names.get(column, ())
        return self.classes or {str(number): name for number, name in enumerate(own)}

    def share(self, column: str) -> Share:
        """Share of nodes of the cells of a column, taken for one label each or a list."""
        if column not in self._shares:
            self._shares[column] = self.share_of(self.labels(column))
        return self._shares[column]

    def share_of(self, labels: Mapping[str, int], table: str | None = None) -> Share:
        """Share of nodes of labels as written."""
        return self.nodes.share(as_read(labels, self.nodes, self.stated), table)

    def complete(self, labels: Mapping[str, int]) -> Mapping[str, bool | None]:
        """Whether each label as written is a complete code; None of words for no code."""
        texts = {t: next(iter(as_read({t: 1}, self.nodes, self.stated)), "") for t in labels}
        sets = self.nodes.sets({texts[text]: n for text, n in labels.items()})
        return {
            t: self.nodes.is_complete(own, sets[own]) if own else None for t, own in texts.items()
        }

    def is_good(self, column: str) -> bool:
        """Whether a column may be of labels, and nine in ten of these are nodes."""
        return self.may_be_labels(column) and self.share(column).of_complete >= NEARLY_ALL

    def may_be_labels(self, column: str) -> bool:
        """Whether a column has several values, some twice, and no dates, flags or counts."""
        varied = self.n_values(column) > 1 and self.repeats(column)
        others = (self.is_date, self.is_flag, self.is_count)
        return varied and not any(one(column) for one in others)

    def may_be_ids(self, column: str) -> bool:
        """Whether a column is filled, and with no dates, decimal numbers, lists or sentences."""
        if self.n_rows(column) < self.frame.height or self.n_values(column) < 2:
            return False
        words = self.cells(column)["cell"].head(VALUES).str.count_matches(r"\s+").mean()
        others = (self.is_listed, self.is_date, self.is_decimal)
        return isinstance(words, float) and words < 2 and not any(one(column) for one in others)

    def repeats(self, column: str) -> bool:
        """Whether a value occurs twice; lists may always do so."""
        return self.is_listed(column) or self.n_values(column) < self.n_rows(column)

    def is_listed(self, column: str) -> bool:
        """Whether a column holds lists, or begins with a list as text."""
        return self.is_list(column) or self.cells(column)["cell"].head(1).str.starts_with("[").any()

    def is_list(self, column: str) -> bool:
        """Whether a column holds lists."""
        return isinstance(self.frame.schema[column], pl.List | pl.Array)

    def is_date(self, column: str) -> bool:
        """Whether a column holds days or moments."""
        cells = self.cells(column)["cell"].head(VALUES)
        temporal = self.frame.schema[column].is_temporal()
        return temporal or (not cells.is_empty() and cells.str.contains(_DATE).all())

    def is_number(self, column: str) -> bool:
        """Whether a column holds numbers alone."""
        cells = self.cells(column)["cell"].head(VALUES).str.replace(",", ".", literal=True)
        return not cells.is_empty() and not cells.cast(pl.Float64, strict=False).null_count()

    def is_decimal(self, column: str) -> bool:
        """Whether a column holds numbers alone, more than half of them decimal."""
        parts = self.cells(column)["cell"].str.contains(r"[.,][0-9]*[1-9][0-9]*$")
        return self.is_number(column) and 2 * int(parts.sum()) > len(parts)

    def is_count(self, column: str) -> bool:
        """Whether a column holds whole numbers that leave hardly one out between them, as ages and
        counts do; class numbers may do so too, and codes of ICD without their dots never do."""
        named = self.nodes.coded or column in self.table.class_names
        if named or self.is_list(column) or not self.is_number(column):
            return False
        numbers = self.numbers(column)
        low, high = numbers.to_frame("n").select(low=pl.min("n"), high=pl.max("n")).row(0)
        return not numbers.null_count() and bool(numbers.n_unique() > HALF * (high - low + 1))

    def numbers(self, column: str) -> pl.Series:
        """The different filled cells of a column as whole numbers; null where they are none."""
        text = self.cells(column)["cell"].str.strip_suffix(".0")
        return text.cast(pl.Int64, strict=False)

    def is_flag(self, column: str) -> bool:
        """Whether a column holds 0 and 1 alone, or true and false."""
        plain = not self.is_list(column) and 0 < self.n_values(column) <= 2
        return plain and FLAGS.issuperset(self.cells(column)["cell"].str.to_lowercase())

    @cached_property
    def index(self) -> str | None:
        """The column without a name that runs 0, 1, 2 ...: an index that pandas wrote."""
        name = next(iter(self.frame.columns), "named")
        runs = [*map(str, range(self.frame.height))]
        if not runs or not _NAMELESS.fullmatch(name.strip()):
            return None
        return name if self.frame[name].cast(pl.String).to_list() == runs else None


def is_record(seen: Seen) -> bool:
    """Whether the names of columns are a record: one is a node, or a value of its own column."""
    return any(
        (seen.nodes.is_complete(name.strip()) and seen.share(name).of_complete >= HALF)
        or name.strip() in {*seen.cells(name)["cell"]}
        for name in seen.frame.columns
        if not seen.is_flag(name)
    )


def labels_of(cells: pl.DataFrame, columns: Columns, most: int) -> Mapping[str, int]:
    """Labels of cells ``cell, rows`` with the number of times that each occurs.

    Of more different cells than ``most`` those at equal distances count.
    """
    some = cells.gather_every(max(1, -(-cells.height // most)))
    labels = some.select(labels_in(some["cell"], columns).alias("label"), "rows")
    each = labels.explode("label").drop_nulls("label")
    return dict(each.group_by("label", maintain_order=True).agg(pl.col("rows").sum()).iter_rows())


def as_read(labels: Mapping[str, int], nodes: Nodes, words: Columns) -> Mapping[str, int]:
    """Labels with their counts as words read them: nodes stay, words for no code are left out."""
    found = dict[str, int]()
    for text, n in labels.items():
        is_node = nodes.is_node(text)
        own = text if is_node else read_as(text, words, nodes.hierarchy, nodes.is_node)
        if own is not None:
            found[own] = found.get(own, 0) + n
    return found
