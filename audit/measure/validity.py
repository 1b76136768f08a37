"""Validity of each row's code on the day of its instance."""

from __future__ import annotations

import polars as pl

from audit.base.arrays import counts_of
from audit.base.declared import schema
from audit.base.errors import PolicyError, SchemaError, first_cases
from audit.data.dataset import LabelDataset
from audit.engine.pairs.pair_counts import support
from audit.hierarchies.hierarchy import Hierarchy
from audit.policy.statements import CodeDates, as_days

VALID, HEADING, INVALID = "valid", "heading", "invalid"
"""`VALID`: the code could be assigned on that day. `HEADING`: it could not, but more specific codes
below it could. `INVALID`: neither it nor any code below it could."""

VALIDITY = schema(("node on_day", pl.String), ("rows instances", pl.Int64), ("valid", pl.String))
"""One row per node and validity: `VALID`, `HEADING`, `INVALID`, or null for rows that are not dated
(the instance has no day, or the code no period of validity). ``valid`` holds the periods of
validity; null if the code has none."""


def validity(dataset: LabelDataset, dates: CodeDates | None) -> pl.DataFrame:
    """Mapped rows and instances of each node by the validity of its code on their day, columns
    `VALIDITY`; without ``dates`` all rows count as not dated, ``on_day`` null."""
    told = _NO_VALIDITY if dates is None else _in_words(_spells_by_node(dates, dataset.hierarchy))
    if dates is None:
        found = {
            "rows": counts_of(dataset.assertions["node"].to_numpy(), len(dataset.hierarchy)),
            "instances": support(dataset.direct),
        }
        undated = pl.DataFrame(found).with_row_index("node").filter(pl.col("rows") > 0)
        by_node = undated.with_columns(on_day=pl.lit(None, pl.String))
    else:
        by_day = rows_on_their_day(dataset, dates).group_by("node", "on_day")
        by_node = by_day.agg(rows=pl.len(), instances=pl.col("instance").n_unique())
    named = by_node.join(told, on="node", how="left").sort("node", "on_day", nulls_last=True)
    ids = pl.Series(dataset.hierarchy.nodes, dtype=pl.String).gather(named["node"])
    return named.with_columns(node=ids).select(pl.col(c).cast(t) for c, t in VALIDITY.items())


def rows_on_their_day(dataset: LabelDataset, dates: CodeDates | None) -> pl.DataFrame:
    """``instance, node`` (indices) and ``on_day`` of every mapped row, as in `VALIDITY`."""
    rows = dataset.assertions.select("instance", "node")
    if dates is None:
        return rows.with_columns(on_day=pl.lit(None, pl.String))
    spells, days = _spells_by_node(dates, dataset.hierarchy), days_of(dataset, dates.column)
    dated = rows.with_columns(day=days.gather(rows["instance"]))
    on_day = _on_day(dated, spells, dataset.hierarchy)
    return dated.join(on_day, on=["node", "day"], how="left").drop("day")


def days_of(dataset: LabelDataset, column: str, key: str = "code_dates") -> pl.Series:
    """The day of each instance, shape (n_instances,); null if it has none."""
    written = dataset.instances[column]
    days = as_days(written)
    unread = dataset.instances.filter(written.is_not_null() & days.is_null())
    if len(unread):
        cases = unread.select(pl.format("{} of the instance {}", column, "instance")).to_series()
        raise SchemaError(
            f"every day in {column!r} must be written as YYYY-MM-DD, alone or before a time",
            found=first_cases(cases),
            hint=f"{key} of the policy names this column",
        )
    if days.null_count() == len(days):
        raise PolicyError(
            f"the column that {key} of the policy names must hold days",
            found=f"none in {column!r}",
        )
    return days


_NODE = pl.UInt32
"""Data type of node indices, as in `LabelDataset.assertions`."""
_SPELLS = {"node": _NODE, "own": pl.Boolean, "first": pl.Date, "last": pl.Date}
"""``node``: index of the code's own node if ``own``, else of the node that would be its parent."""
_NO_VALIDITY = pl.DataFrame(schema={"node": _NODE, "valid": pl.String})


def _spells_by_node(dates: CodeDates, hierarchy: Hierarchy) -> pl.DataFrame:
    """`_SPELLS` of codes at their node, or at the parent they would have; PolicyError if none."""
    placed = {spell.code: hierarchy.place(spell.code, None) for spell in dates.spells}
    rows = [
        (hierarchy.index(at.parent or at.node), at.parent is None, spell.first, spell.last)
        for spell in dates.spells
        if (at := placed[spell.code]).node is not None
    ]
    if not rows:
        raise PolicyError(
            f"code_dates of the policy must have codes of the hierarchy {hierarchy.name}",
            found=f"none among {first_cases(placed)}" if placed else "no spell",
            hint="codes are written as labels are",
        )
    return pl.DataFrame(rows, schema=_SPELLS, orient="row")


def _on_day(dated: pl.DataFrame, spells: pl.DataFrame, hierarchy: Hierarchy) -> pl.DataFrame:
    """``node, day, on_day`` of every different node and day, of nodes that have spells."""
    own = spells.filter("own")
    asked = dated.select("node", "day").drop_nulls().unique().join(own, on="node", how="semi")
    valid = _covered(asked, own)
    others = asked.join(valid, on=["node", "day"], how="anti")
    heading = _covered(others, _at_or_below(spells, hierarchy))
    invalid = others.join(heading, on=["node", "day"], how="anti")
    found = {VALID: valid, HEADING: heading, INVALID: invalid}
    return pl.concat([part.with_columns(on_day=pl.lit(word)) for word, part in found.items()])


def _covered(asked: pl.DataFrame, spells: pl.DataFrame) -> pl.DataFrame:
    """``node, day`` of those asked that lie within a spell of the node, its ends included."""
    begun = pl.col("first").is_null() | (pl.col("first") <= pl.col("day"))
    not_ended = pl.col("last").is_null() | (pl.col("day") <= pl.col("last"))
    joined = asked.join(spells, on="node").filter(begun & not_ended)
    return joined.select("node", "day").unique()


def _at_or_below(spells: pl.DataFrame, hierarchy: Hierarchy) -> pl.DataFrame:
    """``node, first, last``: for each node the spells of all codes at or below it."""
    above = hierarchy.closure[spells["node"].to_numpy()].tocoo()
    gathered: pl.DataFrame = spells.select("first", "last")[above.row]
    return gathered.with_columns(pl.Series("node", above.col, dtype=_NODE))


def _in_words(spells: pl.DataFrame) -> pl.DataFrame:
    """``node, valid``: the spells of each node in words, the earliest first."""
    first, last = pl.col("first").cast(pl.String), pl.col("last").cast(pl.String)
    words = (
        pl.when(pl.col("first").is_null() & pl.col("last").is_null())
        .then(pl.lit("always"))
        .when(pl.col("first").is_null())
        .then(pl.format("until {}", last))
        .when(pl.col("last").is_null())
        .then(pl.format("from {}", first))
        .otherwise(pl.format("{} to {}", first, last))
    )
    ordered = spells.filter("own").sort("node", "first", nulls_last=False)
    return ordered.group_by("node").agg(words.str.join("; ").alias("valid"))
