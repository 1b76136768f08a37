"""What told numbers show of the changes that were tested."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import polars as pl

from audit.base.declared import Columns, chance, count, difference, exact, share, text
from audit.checks.earlier import told_with
from audit.hierarchies.same import SharedNodes, shared_nodes
from audit.results.result import AuditResult
from audit.runs.compare.confusion_changes import RELATED
from audit.runs.compare.edits import edits_in_order
from audit.sharing.told import Rounding, told_frame

SIDES = ("old", "new")
EDITS = Columns(
    text("edit node title old new counted_at from_labels"),
    *(count(f"support_{side}", of=side) for side in SIDES),
)
_OF_TEST = ("low", "high", "p_value", "q_value")


def columns_of(counted: str) -> Columns:
    """What the columns of changes are, by what is counted of nodes, pairs or findings.

    ``worth`` is the number of independent instances among ``of``.
    """
    return Columns(
        text("node title branch a b relation id changed"),
        *(count(f"{counted}_{side}", of=side) for side in SIDES),
        exact("of_old of_new worth_old worth_new", reason="all instances, or told already"),
        *(
            share(f"rate_{side}", of=f"{counted}_{side} of_{side}", effective=f"worth_{side}")
            for side in SIDES
        ),
        difference("difference", of="rate_new rate_old", ends="low high"),
        chance("mean_old mean_new odds_ratio p_value q_value lift_change nodes_q_value"),
        chance("ratio_old ratio_new"),
    )


class ToldRuns:
    """Two runs as their comparison tells them: in bins of the wider of both.

    Args:
        old: The earlier run.
        new: The later run.
    """

    def __init__(self, old: AuditResult, new: AuditResult) -> None:
        self.old, self.new = told_with(old, new.min_cell), told_with(new, old.min_cell)
        sizes = {side: run.size for side, run in self.sides.items()}
        self.rounding = Rounding(self.old.rounding.width, sizes)
        self.width = self.rounding.width

    @property
    def sides(self) -> Mapping[str, AuditResult]:
        """Both runs by their names."""
        return {"old": self.old, "new": self.new}

    def table(self, exact: pl.DataFrame, counted: str) -> pl.DataFrame:
        """Changes with told numbers; with groups, intervals take each group as one instance."""
        if not self.width:
            return exact
        columns = columns_of(counted)
        given = self._listed(exact).select(name for name in exact.columns if name in columns)
        for side, run in self.sides.items():
            of, groups = f"of_{side}", run.ledger["groups"] or run.size
            if of not in given.columns:
                given = given.with_columns(pl.lit(run.size).alias(of))
            given = given.with_columns((pl.col(of) * (groups / run.size)).alias(f"worth_{side}"))
        return told_frame(given, columns, self.rounding)

    def apart(self, told: pl.DataFrame, counted: str) -> pl.DataFrame:
        """The rows of which a difference is told: of shares, else of counts.

        Counts of nearly all instances compare as equal.
        """
        if not self.width:
            return told
        names = {f"{counted}_{side}": side for side in SIDES}
        old, new = map(pl.col, names)
        beyond = (pl.col("low") > 0) | (pl.col("high") < 0)
        far = pl.col("difference").is_null() & ((new - old).abs() >= 2 * self.width)
        near = [pl.col(name).is_in(self._near_all(told[name], side).implode())
                for name, side in names.items()]  # fmt: skip
        return told.filter((beyond | far) & ~pl.any_horizontal(near))

    def _near_all(self, counts: pl.Series, side: str) -> pl.Series:
        bins, told = self.rounding.bins(side), counts.unique().drop_nulls().to_list()
        return pl.Series([n for n in told if bins.near_all(n)], dtype=pl.Int64)

    def differ(self, old: int | None, new: int | None) -> bool:
        """Whether a difference of two told counts is told."""
        if old is None or new is None or abs(new - old) < 2 * self.width:
            return False
        both = zip(SIDES, (old, new), strict=True)
        return not any(self.rounding.bins(side).near_all(n) for side, n in both)

    @cached_property
    def _unlisted(self) -> pl.Series:
        """Codes without a title, which may be nodes only since instances have them as labels."""
        tables = [
            run.nodes.filter(pl.col("title").is_null())["node"]
            for run in self.sides.values()
            if self.width and run.identity["normaliser"]
        ]
        return pl.concat([pl.Series(dtype=pl.String), *tables])

    def _listed(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows without unlisted codes: that a run has none of one is not told."""
        for name in {"node", "a", "b"} & {*table.columns}:
            table = table.filter(~pl.col(name).is_in(self._unlisted.implode()))
        return table

    def edits(self, exact: pl.DataFrame) -> pl.DataFrame:
        """Edits of the hierarchy with told counts."""
        return edits_in_order(told_frame(self._listed(exact), EDITS, self.rounding))

    @property
    def shared_nodes(self) -> SharedNodes:
        """How many nodes both hierarchies have."""
        nodes = (self._listed(run.nodes.select("node", "title")) for run in self.sides.values())
        return shared_nodes(*(one.iter_rows() for one in nodes))

    def confusions(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Concept confusions of pairs as both runs tell them, where they differ."""
        ends = pl.concat([pairs["a"], pairs["b"]]).unique()
        none = (pl.lit(None, pl.Float64).alias(name) for name in _OF_TEST)
        rows = pairs.select("a", "b", "changed", *none)
        for side, run in self.sides.items():
            assert run.told.model is not None, "pairs are compared where both have a model"
            unrelated = run.told.model.pair_table.within(ends).filter(
                ~pl.col("relation").is_in(RELATED)
            )
            told = unrelated.select("a", "b", pl.col("confusion").alias(side)).collect()
            rows = rows.join(told, on=["a", "b"], how="left")
        rows = rows.with_columns(difference=pl.col("new") - pl.col("old"))
        apart = rows.filter(pl.col("difference") != 0)
        return apart.sort(-pl.col("difference").abs(), "a", "b")

    def in_both(self, n: int | None) -> int | None:
        """A count of instances that both runs have, as it is told."""
        fewer = min(SIDES, key=lambda side: self.sides[side].size)
        return None if n is None else self.rounding.count(n, fewer)
