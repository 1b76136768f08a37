"""Rows of labels as instances and nodes: the tables of a dataset."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

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
_AS_WRITTEN = ["reason", "label", "table"]


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
    rows = pl.concat([pl.DataFrame(schema=INSTANCES), rows], how="diagonal")
    instances, order = _instances(rows, where)
    rank = instances.select("instance").with_row_index("index")
    asserted = rows.filter("counted").select("instance", "label", "position", "table", "refused")
    free = asserted.filter(pl.col("label").is_not_null() & pl.col("refused").is_null())
    counts = free.group_by("label", "table").agg(rows=pl.len())
    found = placed(counts, hierarchy, columns, where)
    hierarchy = found.hierarchy
    nodes = pl.DataFrame({"node": hierarchy.nodes}).with_row_index("number")
    places = found.frame.join(nodes, on="node", how="left")
    lacking = pl.when(pl.col("label").is_null()).then(pl.lit("missing_code"))
    numbered = (
        asserted.join(rank, on="instance", how="left", maintain_order="left")
        .with_columns(instance="index")
        .join(places, on=["label", "table"], how="left", nulls_equal=True)
        .with_columns(reason=pl.coalesce("refused", lacking, "reason"))
    )
    kept = numbered.filter(pl.col("reason").is_null())
    assertions = kept.select("instance", pl.col("number").alias("node"), "position")
    assertions = assertions.sort("instance", "position", "node", nulls_last=True)
    of_instance = assertions.group_by("instance").agg(pl.col("node").n_unique())
    refuse_many_pairs(of_instance["node"], len(hierarchy), where)
    lines = numbered.group_by(_AS_WRITTEN).agg(
        pl.first("node", "added"),
        rows=pl.len(),
        instances=pl.col("instance").drop_nulls().n_unique(),
    )
    lines = lines.sort(_AS_WRITTEN, nulls_last=[False, True, True])
    refusals = lines.drop_nulls("reason").drop("node", "added")
    met = _places(rows, records).join(rank, on="instance", maintain_order="left")
    return {
        "hierarchy": hierarchy,
        "instances": instances,
        "assertions": assertions,
        "refusals": refusals,
        "mappings": lines.filter(pl.col("reason").is_null()).drop("reason"),
        "written": _written(numbered, lines),
        "places": met.with_columns(instance="index").drop("index"),
        "ledger": Ledger(
            rows_read=len(asserted),
            rows_mapped=len(assertions),
            refused=refused_rows(refusals),
            instances=len(instances),
            instances_without_labels=len(instances) - assertions["instance"].n_unique(),
            groups=instances["group"].drop_nulls().n_unique() or None,
        ),
        "order": order,
        "unnamed": instances.select(),
        "readings": found.readings,
        "persons": hierarchy.coding is not None and hierarchy.coding.persons,
    }


def _instances(rows: pl.DataFrame, where: object) -> tuple[pl.DataFrame, Any]:
    """The instances in the order of their ids, and the place of each as first mentioned."""
    further = [name for name in rows.columns if name.startswith(STRATUM)]
    distinct = rows.select(*INSTANCES, *further).unique(maintain_order=True)
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
    found = by_instance.agg(firsts, pl.col("split").min()).select(distinct.columns)
    named = found.rename({role: role.removeprefix(STRATUM) for role in further})
    numbers = named.with_row_index("place").sort("instance")
    return numbers.drop("place"), numbers["place"].arg_sort().to_numpy().astype(np.int64)


def _written(rows: pl.DataFrame, lines: pl.DataFrame) -> pl.DataFrame:
    """``instance, line``: each label of each instance once, as numbers of ``lines``."""
    number = lines.select(_AS_WRITTEN).with_row_index("line")
    held = rows.join(number, on=_AS_WRITTEN, nulls_equal=True).drop_nulls("instance")
    # one number for both sorts several times as fast as two columns
    many = max(len(lines), 1)
    pair = pl.col("instance").cast(pl.UInt64) * many + pl.col("line")
    pairs = held.select(pair.sort().unique(maintain_order=True)).to_series()
    ends = {"instance": pairs // many, "line": pairs % many}
    return pl.DataFrame(ends, dict.fromkeys(ends, pl.UInt32))


def _places(rows: pl.DataFrame, records: Collection[int]) -> pl.DataFrame:
    """Places of instances met in several records, or else in several splits."""
    place, several = "split", pl.col("split").is_not_null()
    if len(records):
        place, several = "row", pl.col("row").is_in(pl.Series(records, dtype=pl.Int64).implode())
    named = rows.filter(pl.col("instance").is_not_null() & several)
    met = named.filter(pl.col(place).n_unique().over("instance") > 1)
    labels = pl.col("label").drop_nulls().sort().alias("labels")
    found = met.group_by("instance", pl.col(place).alias("place")).agg(pl.first("split"), labels)
    return found.select(*PLACES).sort("instance", "split", pl.col("labels").list.join("\0"))
