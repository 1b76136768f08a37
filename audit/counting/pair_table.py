"""The pair table: the counts of each pair, and its published form."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.schemas import schema
from audit.engine.pairs.pair_counts import PairCounts
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.relations import RELATIONS, relate

JUDGED = schema(
    (
        "expected_length ratio p_value q_value explained shrunk_ratio ratio_low ratio_high",
        pl.Float64,
    ),
    ("found_rank", pl.Int64),
)
"""Columns with the judgement of a pair; null if it was not judged."""


def pair_table(hierarchy: Hierarchy, counts: PairCounts, supports: IntArray) -> pl.DataFrame:
    """Table of the counts, relation and lowest common ancestor of each pair, with ids as Enum."""
    table = numbered_pairs(hierarchy, counts, supports)
    ids, relations = pl.Enum(hierarchy.nodes), pl.Enum(RELATIONS)
    nodes = [table[name].cat.to(ids) for name in ("a", "b", "lca")]
    return table.with_columns(*nodes, table["relation"].cat.to(relations))


def numbered_pairs(hierarchy: Hierarchy, counts: PairCounts, supports: IntArray) -> pl.DataFrame:
    """The same with numbers for names, as `named` takes them."""
    relation, lca = relate(hierarchy, counts.a, counts.b)
    return pl.DataFrame(
        {
            "a": counts.a.astype(np.uint32),
            "b": counts.b.astype(np.uint32),
            "support_a": supports[counts.a],
            "support_b": supports[counts.b],
            "joint": counts.joint,
            "confusion_sum": counts.confusion_sum,
            "relation": relation,
            "lca": lca,
        }
    )


def named(pairs: pl.LazyFrame, hierarchy: Hierarchy) -> pl.LazyFrame:
    """Replace the numbers of nodes and relations by their names."""
    ids, relations = pl.Enum(hierarchy.nodes), pl.Enum(RELATIONS)
    nodes, relation = pl.col("a", "b", "lca"), pl.col("relation")
    return pairs.with_columns(nodes.cat.to(ids), relation.cat.to(relations))


def described(pairs: pl.LazyFrame, instances: int) -> pl.LazyFrame:
    """The published pair table, lazily: with rate, confusion, expectation and lift.

    If a table lacks ``joint_entailed`` or columns of `JUDGED`, as pairs of a model do, these are
    null.
    """
    # a number of its own for each row: polars rounds quotients by one number for all otherwise,
    # unless there is a single row
    n = pl.col("joint") * 0 + max(instances, 1)
    independent = pl.col("support_a") * pl.col("support_b") / n
    there = pairs.collect_schema().names()
    return pairs.select(
        pl.col("a", "b").cast(pl.String),
        pl.col("support_a", "support_b", "joint"),
        _if_there(there, "joint_entailed", pl.Int64),
        (pl.col("joint") / n).alias("rate"),
        (pl.col("confusion_sum") / n).alias("confusion"),
        independent.alias("expected"),
        (pl.col("joint") / independent).alias("lift"),
        *(_if_there(there, name, dtype) for name, dtype in JUDGED.items()),
        pl.col("relation").cast(pl.String),
        pl.col("lca").cast(pl.String),
    )


def observed_ratio() -> pl.Expr:
    """Column ``ratio``: joint instances without a label below both nodes, over those expected.

    Of ``joint, joint_entailed, expected_length``; null where nothing is expected.
    """
    expected, observed = pl.col("expected_length"), pl.col("joint") - pl.col("joint_entailed")
    return pl.when(expected > 0).then(observed / expected).alias("ratio")


def _if_there(there: Sequence[str], name: str, dtype: type[pl.DataType]) -> pl.Expr:
    return pl.col(name) if name in there else pl.lit(None, dtype).alias(name)
