"""The pair table: what is counted and judged of pairs of nodes, and all columns that follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from audit.base.dag import BoolArray, FloatArray, IntArray
from audit.base.declared import schema
from audit.counting.pair_verdicts import ENDS, TOLD, ReadTable, Verdicts, ends_of, keys_of
from audit.engine.statistics.fdr import Family
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import RELATIONS, relate

COLUMNS = schema(
    ("a b", pl.String),
    ("support_a support_b joint joint_entailed", pl.Int64),
    (
        "rate confusion expected lift observed expected_length ratio p_value q_value explained "
        "effective shrunk_ratio ratio_low ratio_high",
        pl.Float64,
    ),
    ("groups found_rank", pl.Int64),
    ("group_sum group_squares", pl.Float64),
    ("relation lca", pl.String),
)
"""Columns of the pair table. Those of the judgement are null where a pair was not judged;
``observed`` and ``effective``, by weight, are null without groups. So are ``groups``, and the sum
over all groups of the share of a group's records that count, given for every pair that some count
for, and of its squares."""
PAIRS_AT_ONCE = 200_000
"""Number of rows of a pair table that are looked at a time."""


@dataclass(frozen=True, eq=False)
class PairTable:
    """Every pair with a joint instance: what cannot be computed, and `frame`, with all that can.

    Args:
        counted: `ENDS`, in order, ``joint`` and ``confusion``; ``joint_entailed`` of labels, with
            groups ``observed`` and ``group_sum``, and further columns of predictions.
        support: Instances that carry each node, shape (n_nodes,).
        verdicts: What was judged of the pairs; None for those of predictions.
    """

    counted: pl.LazyFrame
    graph: Callable[[], Hierarchy]
    support: IntArray
    instances: int
    verdicts: Verdicts | None = None

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy."""
        return self.graph()

    @cached_property
    def names(self) -> pl.Series:
        """Ids of the nodes in their order."""
        return pl.Series(self.hierarchy.nodes, dtype=pl.String)

    @cached_property
    def family(self) -> Family | None:
        """The pairs that were judged; None for those of predictions."""
        if self.verdicts is None:
            return None
        used, left_out = self.verdicts.used, self.verdicts.left_out
        return Family(used, self.hierarchy.closure, left_out)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """Columns of `frame`: `COLUMNS`, and those that were counted of predictions alone."""
        return COLUMNS | {
            name: kind
            for name, kind in self.counted.collect_schema().items()
            if name not in COLUMNS
        }

    @property
    def frame(self) -> pl.LazyFrame:
        """The whole table; columns are computed for the rows that a query has left."""
        return self._frame_of(self.counted)

    def within(self, ids: pl.Series) -> pl.LazyFrame:
        """The rows of `frame` whose two nodes are both among those with given ids."""
        return self._frame_of(self.counted_between(ids))

    def reported(self) -> pl.LazyFrame:
        """The rows of `frame` that passed, sought by their ends; none of predictions."""
        if self.verdicts is None:
            return self.frame.head(0)
        passed = self.verdicts.told.filter(pl.col("found_rank").is_not_null()).lazy()
        rows = self.counted.join(passed, on=list(ENDS), how="semi", maintain_order="left")
        return self._frame_of(rows)

    def _frame_of(self, counted: pl.LazyFrame) -> pl.LazyFrame:
        return register_io_source(partial(self._queried, counted), schema=self.schema)

    def counted_between(self, ids: pl.Series) -> pl.LazyFrame:
        """The rows of ``counted`` whose two nodes are both among those with given ids."""
        numbers = pl.Series(np.flatnonzero(self.names.is_in(ids.implode())), dtype=pl.UInt32)
        both = pl.all_horizontal(pl.col("a", "b").is_in(numbers.implode()))
        return self.counted.filter(both)

    def blocks(self) -> Iterator[pl.DataFrame]:
        """The rows of ``counted`` in blocks, one at least."""
        return _blocks(self.counted)

    def _queried(
        self,
        counted: pl.LazyFrame,
        columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        """Some columns, block by block, of those of the first ``n_rows`` that a predicate keeps."""
        for rows in _blocks(counted):
            if n_rows is not None:
                rows = rows.head(n_rows)
                n_rows -= len(rows)
            if predicate is not None:
                asked = self.described(rows, {"joint", *predicate.meta.root_names()})
                rows = rows.filter(asked.with_columns(predicate.alias("kept"))["kept"])
            yield self.described(rows, self.schema if columns is None else columns)
            if n_rows == 0:
                return

    def described(self, rows: pl.DataFrame, columns: Iterable[str]) -> pl.DataFrame:
        """Some columns of the pair table.

        Args:
            rows: Rows of ``counted`` in their order, with the columns that these follow from.
            columns: Names of `schema`.
        """
        found = _Described(self, rows)
        return pl.DataFrame({name: found.column(name) for name in columns})

    def tables(self) -> dict[str, pl.DataFrame | pl.LazyFrame]:
        """The tables that a run keeps, by name: `lean` as ``pairs``, and those of the verdicts."""
        judged = {} if self.verdicts is None else self.verdicts.tables()
        return {"pairs": self.lean(), **judged}

    def lean(self) -> pl.LazyFrame:
        """The counted columns, null where they are what joint instances make them.

        That is the share of the instances with both for ``confusion``, and their number, without
        those with a label below both, for sums by weight and over groups.
        """
        joint, there = pl.col("joint"), self.counted.collect_schema()
        usual = {"confusion": joint / (joint * 0 + max(self.instances, 1))}
        if "joint_entailed" in there:
            usual |= dict.fromkeys(("observed", "group_sum"), joint - pl.col("joint_entailed"))
        return self.counted.with_columns(
            pl.col("^joint(_entailed)?$").cast(pl.Int64),
            *(
                pl.when(pl.col(name) != value).then(name).alias(name)
                for name, value in usual.items()
                if name in there
            ),
        )

    @classmethod
    def read(cls, table: ReadTable, record: Mapping[str, Any]) -> Self:
        """The pair table of a run, from its restricted tables by name and its result."""
        nodes = table("nodes")
        return cls(
            counted=table("pairs"),
            graph=lambda: graph_of(table, record),
            support=nodes.select("support").collect().to_series().to_numpy(),
            instances=int(record["ledger"]["instances"]),
            verdicts=Verdicts.read(table),
        )

    def refuse_damage(self) -> None:
        """Raise ValueError if a pair is of no node, or margins are of other nodes."""
        last = self.counted.select(pl.max_horizontal(pl.max("a"), pl.max("b"))).collect().item()
        margins = len(self.support) if self.verdicts is None else len(self.verdicts.used)
        if (last or 0) >= max(len(self.support), 1) or margins != len(self.support):
            raise ValueError("pairs of other nodes")


def _blocks(counted: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    rows = int(counted.select(pl.len()).collect().item())
    for start in range(0, max(rows, 1), PAIRS_AT_ONCE):
        yield counted.slice(start, PAIRS_AT_ONCE).collect()


def graph_of(table: ReadTable, record: Mapping[str, Any]) -> Hierarchy:
    """The hierarchy of a run, in the order of its table of nodes."""
    nodes, edges = table("nodes").select("node", "title", "assignable"), table("edges")
    name = str(record["identity"]["hierarchy"]["name"])
    return Hierarchy.build(edges.collect(), nodes.collect(), name=name)


@dataclass(frozen=True, eq=False)
class _Described:
    """Some rows of a pair table, whose columns are computed when they are needed."""

    table: PairTable
    rows: pl.DataFrame

    def column(self, name: str) -> pl.Series:
        """A column of the pair table; null where it has nothing to follow from."""
        values: Any = self.rows.get_column(name, default=None)
        verdicts = self.table.verdicts
        if name in _OF_COUNTS:
            values = _OF_COUNTS[name](self)
        elif verdicts is not None and name in _OF_VERDICTS:
            values = _OF_VERDICTS[name](self, verdicts)
        elif verdicts is not None and name in TOLD:
            told = verdicts.told.get_column(name, default=None)
            values = None if told is None else told.gather(self.places(verdicts.keys[1]))
        kind = self.table.schema[name]
        if values is None:
            return pl.repeat(None, len(self.rows), dtype=kind, eager=True).alias(name)
        return pl.Series(name, values).cast(kind)

    @cached_property
    def ends(self) -> tuple[IntArray, IntArray]:
        return ends_of(self.rows)

    @property
    def joint(self) -> IntArray:
        return self.rows["joint"].to_numpy()

    @property
    def rate(self) -> pl.Series:
        """Share of all instances that carry both nodes of each pair."""
        return pl.Series(self.joint / max(self.table.instances, 1))

    @property
    def independent(self) -> FloatArray:
        """Joint instances expected of independent nodes."""
        first, second = (self.table.support[end] for end in self.ends)
        return np.asarray(first * second / max(self.table.instances, 1))

    @cached_property
    def related(self) -> tuple[IntArray, IntArray]:
        """Relations, as positions in `RELATIONS`, and lowest common ancestors."""
        relation, lca = relate(self.table.hierarchy, *self.ends)
        return relation.astype(np.int64), lca.astype(np.int64)

    @cached_property
    def expected(self) -> FloatArray:
        """Joint instances that length lets expect; NaN where a pair was not judged."""
        expected, (a, b) = np.full(len(self.rows), np.nan), self.ends
        if self.table.verdicts is not None and self.table.family is not None:
            places = self.table.family.members(a, b)
            expected[places] = self.table.verdicts.expected.joint(a[places], b[places])
        return expected

    def places(self, keys: IntArray) -> pl.Series:
        """Where each pair is among ascending keys, null where it is not."""
        asked = keys_of(self.rows, len(self.table.support))
        if not len(keys):
            return pl.repeat(None, len(asked), dtype=pl.UInt32, eager=True)
        place = np.searchsorted(keys, asked).clip(max=len(keys) - 1)
        return _where(keys[place] == asked, pl.Series(place))

    def known(self, values: pl.Series | FloatArray) -> pl.Series:
        """Values, and null where a pair was not judged."""
        return _where(~np.isnan(self.expected), pl.Series(values))

    def chance(self, name: str, verdicts: Verdicts) -> pl.Series:
        """A p or q value, which is 1 where nothing of a judged pair is kept."""
        found = verdicts.judged[name].gather(self.places(verdicts.keys[0]))
        return self.known(found.fill_null(1.0))

    @property
    def apart(self) -> IntArray:
        """Joint instances without a label below both nodes."""
        return np.asarray(self.joint - self.rows["joint_entailed"].to_numpy())

    def weighed(self, name: str) -> pl.Series:
        """``observed`` or ``group_sum`` of each pair; `apart` where it is null, being equal."""
        apart = pl.Series(self.apart, dtype=pl.Float64)
        return self.rows[name].fill_null(apart) if name in self.rows else apart

    @property
    def ratio(self) -> pl.Series:
        """Joint instances observed, by weight with groups, over those that length lets expect."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.weighed("observed").to_numpy() / self.expected
        return _where(self.expected > 0, pl.Series(ratio))


def _where(there: BoolArray, values: pl.Series) -> pl.Series:
    """Values, null where they are not there."""
    return pl.select(pl.when(pl.Series(there)).then(values)).to_series()


_OF_COUNTS: Mapping[str, Callable[[_Described], Any]] = {
    "a": lambda of: of.table.names.gather(of.ends[0]),
    "b": lambda of: of.table.names.gather(of.ends[1]),
    "support_a": lambda of: of.table.support[of.ends[0]],
    "support_b": lambda of: of.table.support[of.ends[1]],
    "rate": lambda of: of.rate,
    "confusion": lambda of: of.rows["confusion"].fill_null(of.rate),
    "expected": lambda of: of.independent,
    "lift": lambda of: of.joint / of.independent,
    "relation": lambda of: pl.Series(RELATIONS).gather(of.related[0]),
    "lca": lambda of: of.table.names.gather(of.related[1]),
}
_OF_VERDICTS: Mapping[str, Callable[[_Described, Verdicts], Any]] = {
    "expected_length": lambda of, _: of.known(of.expected),
    "ratio": lambda of, _: of.ratio,
    "p_value": lambda of, verdicts: of.chance("p_value", verdicts),
    "q_value": lambda of, verdicts: of.chance("q_value", verdicts),
    "observed": lambda of, _: of.known(of.weighed("observed")) if "observed" in of.rows else None,
    "group_sum": lambda of, _: (
        _where(of.apart > 0, of.weighed("group_sum")) if "group_sum" in of.rows else None
    ),
}
