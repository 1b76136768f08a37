"""Rows of labels as instances and nodes: the tables of a dataset."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal

import numpy as np
import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.limits import refuse_many_pairs
from audit.base.schemas import schema
from audit.data.columns import Columns
from audit.data.ledger import Ledger, refused_rows
from audit.data.placing import placed
from audit.data.rows import STRATUM
from audit.hierarchies.hierarchy import Hierarchy

INSTANCES = schema(("instance group split", pl.String))
"""First columns of instances; the strata follow."""
PLACES = schema(("instance split", pl.String), ("labels", pl.List(pl.String)))
"""Columns of the places of instances that occur in several."""


def mapped(
    rows: pl.DataFrame,
    hierarchy: Hierarchy,
    columns: Columns | None = None,
    *,
    records: Collection[int] = (),
    where: object = "",
) -> dict[str, Any]:
    """The fields of a dataset that follow from its rows.

    Args:
        rows: Columns `audit.data.rows.ROWS`, and ``group``, ``split`` and strata where there are
            such.
        hierarchy: The hierarchy.
        columns: As in `placed`.
        records: Numbers of the rows that are one of an instance each, so that a further one of it
            is another place.
        where: The data, for messages.

    Raises:
        AskedError: As `placed` does.
        SchemaError: If an instance has two groups, or two values of a stratum.
    """
    instances, order = _instances(rows, where)
    asserted = rows.filter("counted").select("instance", "label", "position", "table", "refused")
    missing = pl.col("label").is_null()
    free = asserted.filter(~missing & pl.col("refused").is_null())
    counts = free.group_by("label", "table").agg(rows=pl.len())
    found = placed(counts, hierarchy, columns, where)
    hierarchy = found.hierarchy
    nodes = pl.DataFrame({"node": hierarchy.nodes}).with_row_index("index")
    places = found.frame.join(nodes, on="node", how="left")
    numbered = _numbered(asserted, instances, "left").join(
        places, on=["label", "table"], how="left", nulls_equal=True
    )
    lacking = pl.when(missing).then(pl.lit("missing_code"))
    numbered = numbered.with_columns(reason=pl.coalesce("refused", lacking, "reason"))
    is_kept = pl.col("reason").is_null()
    kept = numbered.filter(is_kept).select("instance", pl.col("index").alias("node"), "position")
    assertions = kept.sort("instance", "position", "node", nulls_last=True)
    of_instance = assertions.group_by("instance").agg(pl.col("node").n_unique())
    refuse_many_pairs(of_instance["node"], len(hierarchy), where)
    lines = numbered.group_by("reason", "label", "table").agg(
        pl.first("node", "added"),
        rows=pl.len(),
        instances=pl.col("instance").drop_nulls().n_unique(),
    )
    lines = lines.sort("reason", "label", "table", nulls_last=True)
    mappings = lines.filter(is_kept).drop("reason")
    refusals = lines.filter(~is_kept).drop("node", "added")
    groups = instances["group"].drop_nulls()
    return {
        "hierarchy": hierarchy,
        "instances": instances,
        "assertions": assertions,
        "refusals": refusals,
        "mappings": mappings,
        "written": _written(numbered, mappings, refusals),
        "places": _numbered(_places(rows, records), instances),
        "ledger": Ledger(
            rows_read=len(asserted),
            rows_mapped=len(assertions),
            refused=refused_rows(refusals),
            instances=len(instances),
            instances_without_labels=len(instances) - assertions["instance"].n_unique(),
            groups=groups.n_unique() if len(groups) else None,
        ),
        "order": order,
        "unnamed": instances.select(),
        "readings": found.readings,
        "persons": hierarchy.coding is not None and hierarchy.coding.persons,
    }


def _instances(rows: pl.DataFrame, where: object) -> tuple[pl.DataFrame, Any]:
    """The instances in the order of their ids, and the place of each as first mentioned."""
    further = [name for name in rows.columns if name.startswith(STRATUM)]
    wanted = [*INSTANCES, *further]
    there = rows.select(name for name in wanted if name in rows.columns)
    empty = pl.DataFrame(schema=dict.fromkeys(wanted, pl.String))
    distinct = pl.concat([empty, there.unique(maintain_order=True)], how="diagonal")
    by_instance = distinct.drop_nulls("instance").group_by("instance", maintain_order=True)
    for role in ("group", *further):
        values = by_instance.agg(pl.col(role).drop_nulls().unique(maintain_order=True))
        torn = values.filter(pl.col(role).list.len() > 1)
        if not torn.is_empty():
            cases = torn.head(5).select(
                pl.format("{} in {}", "instance", pl.col(role).list.join(", "))
            )
            name = role.removeprefix(STRATUM)
            raise SchemaError(
                f"an instance must be in one {name}",
                found=f"in several: {first_cases(cases.to_series(), torn.height)}",
                where=where,
                hint="name the column that holds the group with --group, or the id with --id"
                if role == "group"
                else f"leave {name!r} out of the policy, or name the id with --id",
            )
    firsts = pl.col("group", *further).drop_nulls().first()
    found = by_instance.agg(firsts, pl.col("split").min()).select(wanted)
    named = found.rename({role: role.removeprefix(STRATUM) for role in further})
    numbers = named.with_row_index("place").sort("instance")
    return numbers.drop("place"), numbers["place"].arg_sort().to_numpy().astype(np.int64)


def _numbered(
    frame: pl.DataFrame, instances: pl.DataFrame, how: Literal["inner", "left"] = "inner"
) -> pl.DataFrame:
    """The frame with each instance's id replaced by its index; left: rows without one have null."""
    rank = instances.select("instance").with_row_index("index")
    joined = frame.join(rank, on="instance", how=how, maintain_order="left")
    return joined.with_columns(instance="index").drop("index")


def _written(rows: pl.DataFrame, mappings: pl.DataFrame, refusals: pl.DataFrame) -> pl.DataFrame:
    as_written = ("reason", "label", "table")
    kept = mappings.with_columns(reason=pl.lit(None, pl.String))
    lines = pl.concat([kept.select(as_written), refusals.select(as_written)])
    numbered = rows.join(lines.with_row_index("line"), on=as_written, nulls_equal=True)
    of_instances = numbered.select("instance", "line").drop_nulls("instance")
    # one number for both sorts several times as fast as two columns
    many = max(len(lines), 1)
    pair = pl.col("instance").cast(pl.UInt64) * many + pl.col("line")
    pairs = of_instances.select(pair.sort().unique(maintain_order=True)).to_series()
    ends = {"instance": pairs // many, "line": pairs % many}
    return pl.DataFrame(ends, schema=of_instances.schema)


def _places(rows: pl.DataFrame, records: Collection[int]) -> pl.DataFrame:
    """Places of instances met in several records, or else in several splits."""
    named = rows.drop_nulls("instance")
    place, several = "row", pl.col("row").is_in(pl.Series(records, dtype=pl.Int64).implode())
    if not len(records):
        place, several = "split", pl.col("split").is_not_null()
    if place not in named.columns:
        return pl.DataFrame(schema=PLACES)
    met = named.filter(several).filter(pl.col(place).n_unique().over("instance") > 1)
    split = pl.first("split") if "split" in rows.columns else pl.lit(None, pl.String)
    labels = pl.col("label").drop_nulls().sort().alias("labels")
    found = met.group_by("instance", pl.col(place).alias("place")).agg(split.alias("split"), labels)
    return found.select(*PLACES).sort("instance", "split", pl.col("labels").list.join("\0"))
