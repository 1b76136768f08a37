"""The instances that counts of columns and of nodes are made of, by all that these count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from audit.base.dag import FloatArray
from audit.disclosure import WITHOUT, Form, Release, Value, rows_of

LABELS, WITH, ELSEWHERE = "labels", "with", "elsewhere"
"""What is counted of a value, beside `WITHOUT`, its instances without a label: its labels; its
instances that carry a node; all others that do."""
MOST_OTHERS = 1_000
"""Largest number of cells, of all values and labels, of which readers may not know which are
empty."""


def extremes(cells: pl.DataFrame) -> pl.DataFrame:
    """Cells with the fewest and the most labels, of which a program makes up those between."""
    labels, n = pl.col("labels"), pl.col("instances")
    low, high = labels.min(), labels.max()
    more = (n * (labels - low)).sum() / pl.max_horizontal(high - low, 1)
    by = ["parent", "columns", "values", "held", "nodes", "parents", (labels > 0).alias("labelled")]
    each = cells.group_by(by, maintain_order=True)
    ends = ((low, n.sum() - more), (high, more))
    return pl.concat(each.agg(labels=at, instances=of) for at, of in ends).filter(n > 0)


def with_others(cells: pl.DataFrame) -> pl.DataFrame:
    """Cells, and those that nobody has: ``beyond`` is 1 without a label, 2 with those of others.

    Of the latter, none where these are more than `MOST_OTHERS`.
    """
    values = ["parent", "columns", "values"]
    labels = cells.drop(*values, "instances").unique(maintain_order=True)
    every = cells.select(values).unique(maintain_order=True).join(labels, how="cross")
    if cells["held"].null_count() or len(every) > MOST_OTHERS:
        every = every.filter(labels=0)
    on = [*values, *labels.columns]
    none = every.join(cells, on=on, how="anti", nulls_equal=True).with_columns(
        instances=pl.lit(0, cells["instances"].dtype),
        beyond=pl.when(labels=0).then(1).otherwise(2),
    )
    both = cells.with_columns(beyond=pl.lit(0, none["beyond"].dtype)), none
    return pl.concat(both, how="diagonal")


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a program, and which of them a number counts, with how much of an instance."""

    frame: pl.DataFrame

    @cached_property
    def sizes(self) -> FloatArray:
        """Instances of each, perhaps not whole."""
        return self.frame["instances"].to_numpy()

    @cached_property
    def labels(self) -> FloatArray:
        """Labels of an instance of each."""
        return self.frame["labels"].to_numpy().astype(np.float64)

    @property
    def of_all(self) -> bool:
        """Whether the cells are of all instances, not of those below a parent."""
        return self.frame["parent"].null_count() > 0

    @property
    def whole(self) -> bool:
        """Whether all labels of the instances are known."""
        return self.frame["held"].null_count() == 0

    @cached_property
    def nodes(self) -> frozenset[str]:
        """The nodes that some cell is counted by."""
        return self._names("nodes")

    def _names(self, column: str) -> frozenset[str]:
        return frozenset(self.frame[column].drop_nulls().explode().drop_nulls().to_list())

    def tell(self, column: str, *names: str) -> bool:
        """Whether cells are told apart by a column, and by nodes and parents."""
        return column in self.columns and (self.nodes | self._names("parents")).issuperset(names)

    @cached_property
    def columns(self) -> list[str]:
        """The columns whose values are told apart."""
        return list(self.frame["columns"][0])

    def within(self, column: str, value: str | None = None, *, here: bool = True) -> FloatArray:
        """Instances of a value, or of all others; without one, those of any."""
        found = self.frame["values"].list.get(self.columns.index(column))
        held = found.is_not_null() if value is None else (found == value) == here
        return held.fill_null(False).to_numpy().astype(np.float64)

    def carrying(self, node: str) -> FloatArray:
        """Instances that carry a node."""
        return self.frame["nodes"].list.contains(node).to_numpy().astype(np.float64)

    def children(self, parent: str) -> FloatArray:
        """Children of a node that an instance of each carries."""
        return self.frame["parents"].list.count_matches(parent).to_numpy().astype(np.float64)

    def row(self, of: Value) -> FloatArray:
        """What drift counts."""
        column, value, *rest = of
        held = self.within(column, value, here=rest[:1] != [ELSEWHERE])
        if rest == [WITHOUT]:
            return np.asarray(held * (self.labels == 0), np.float64)
        return held * (self.carrying(rest[1]) if rest[1:] else self.labels if rest else 1.0)

    def rows(self, forms: Iterable[Form], release: Release) -> dict[Form, FloatArray]:
        """Sums of counts of nodes, those that the cells tell and that are not 0 of each."""
        row = rows_of(release, self.frame["held"].to_list()) if self.whole else self._of_nodes
        found = ((form, row(form)) for form in forms)
        return {form: its for form, its in found if its is not None and its.any()}

    def _of_nodes(self, form: Form) -> FloatArray | None:
        """A sum of counts of nodes that are named; None of any other."""
        total = np.zeros(len(self.sizes))
        for sign, cell in form:
            own = np.ones(len(self.sizes))
            sets = () if cell is None else cell.meets
            if cell is None:
                own = (self.labels > 0).astype(np.float64)
            elif cell.by_label or cell.misses:
                return None
            for scope, node in sets:
                if scope != "below" or node not in self.nodes:
                    return None
                own = own * self.carrying(node)
            total += sign * own
        return total if self.of_all or all(cell for _, cell in form) else None

    def counted(self, of: Value) -> int:
        """How many that are."""
        return round(float(self.sizes @ self.row(of)))
