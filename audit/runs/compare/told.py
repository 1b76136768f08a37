"""What told numbers show of the changes that were tested."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from audit.base.declared import Columns, chance, count, difference, exact, share, text
from audit.checks.judging import told_with
from audit.hierarchies.relations import SharedNodes, shared_nodes
from audit.results.result import AuditResult
from audit.runs.compare.releases import SIDES, edits_in_order
from audit.sharing.told import Rounding, told_frame

EDITS = Columns(
    text("edit node title old new counted_at from_labels"),
    *(count(f"support_{side}", of=side) for side in SIDES),
)


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
        exact: Whether they are told in exact numbers all the same.
    """

    def __init__(self, old: AuditResult, new: AuditResult, *, exact: bool = False) -> None:
        self.old, self.new = told_with(old, new.min_cell), told_with(new, old.min_cell)
        self.sides: Mapping[str, AuditResult] = {"old": self.old, "new": self.new}
        sizes = {side: run.size for side, run in self.sides.items()}
        self.width = 0 if exact else self.old.rounding.width
        self.rounding = Rounding(self.width, sizes)
        self._unlisted = [
            run.nodes.filter(pl.col("title").is_null())["node"]
            for run in self.sides.values()
            if self.width and run.identity["normaliser"]
        ]
        """Codes without a title, which may be nodes only since instances have them as labels."""

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
        beyond = (pl.col("low") > 0) | (pl.col("high") < 0)
        counts = told.select(f"{counted}_{side}" for side in SIDES).rows()
        far = pl.Series([self.differ(*row) for row in counts], dtype=pl.Boolean)
        near = pl.Series([self._near_all(*row) for row in counts], dtype=pl.Boolean)
        return told.filter((beyond | (pl.col("difference").is_null() & far)) & ~near)

    def differ(self, old: int | None, new: int | None) -> bool:
        """Whether told counts differ by two bins; False if either is None or near all instances."""
        if old is None or new is None or self._near_all(old, new):
            return False
        return abs(new - old) >= 2 * self.width

    def _near_all(self, old: int | None, new: int | None) -> bool:
        """Whether either told count is in the last bin, next to all instances of its run."""
        both = zip(SIDES, (old, new), strict=True)
        return any(n is not None and self.rounding.bins(side).near_all(n) for side, n in both)

    def _listed(self, table: pl.DataFrame) -> pl.DataFrame:
        """The rows without unlisted codes: that a run has none of one is not told."""
        named = [name for name in ("node", "a", "b") if name in table.columns]
        unlisted = [~pl.col(n).is_in(codes.implode()) for n in named for codes in self._unlisted]
        return table.filter(*unlisted)

    def edits(self, exact: pl.DataFrame) -> pl.DataFrame:
        """Edits of the hierarchy with told counts."""
        return edits_in_order(told_frame(self._listed(exact), EDITS, self.rounding))

    @property
    def shared_nodes(self) -> SharedNodes:
        """How many nodes both hierarchies have."""
        nodes = (self._listed(run.nodes.select("node", "title")) for run in self.sides.values())
        return shared_nodes(*(one.iter_rows() for one in nodes))

    def in_both(self, n: int | None) -> int | None:
        """A count of instances that both runs have, as it is told."""
        fewer = min(SIDES, key=lambda side: self.sides[side].size)
        return None if n is None else self.rounding.count(n, fewer)
