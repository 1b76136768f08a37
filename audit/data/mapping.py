"""Rows of labels mapped to a hierarchy: the tables of a dataset, and the ledger of every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from audit.base.arrays import Growing, counts_of, slices
from audit.base.dag import IntArray
from audit.base.declared import schema
from audit.base.errors import SchemaError, first_cases
from audit.base.limits import MANY, refuse_many_pairs
from audit.data.columns import Columns
from audit.data.numbered import NO_POSITION, NOBODY, NumberedRows
from audit.data.placing import Placed, placed
from audit.data.rows import STRATUM
from audit.hierarchies.hierarchy import Hierarchy

REASONS = (
    "unknown_code",
    "retired_code",
    "malformed_code",
    "missing_code",
    "left_out",
    "no_place",
    "other_version",
    "no_hierarchy",
    "bad_row",
)
"""Reasons why a row is refused, in the order of the ledger."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Numbers of mapped and refused rows: ``rows_read == rows_mapped + sum(refused.values())``.

    Args:
        rows_read: Number of instance-label assertions read.
        rows_mapped: Number of those that have a node, duplicates included.
        refused: Number of rows without a node by reason; reasons that do not occur are left out.
        instances: Number of instances, those without labels included.
        instances_without_labels: Number of instances none of whose rows has a node.
        groups: Number of distinct groups; None if there are none.
    """

    rows_read: int
    rows_mapped: int
    refused: Mapping[str, int]
    instances: int
    instances_without_labels: int
    groups: int | None


def refused_rows(refusals: pl.DataFrame) -> Mapping[str, int]:
    """Number of refused rows by reason, as `REASONS` orders them, from ``reason, rows``."""
    refused = dict(refusals.group_by("reason").agg(pl.col("rows").sum()).iter_rows())
    return {reason: refused[reason] for reason in REASONS if reason in refused}


INSTANCES = schema(("instance group split", pl.String))
"""First columns of instances; the strata follow."""
_AS_WRITTEN = ["reason", "label", "table"]


def mapped(
    rows: NumberedRows,
    hierarchy: Hierarchy,
    columns: Columns | None = None,
    *,
    records: Sequence[slice] = (),
    where: object = "",
) -> dict[str, Any]:
    """The fields of a dataset that follow from its rows.

    Args:
        rows: The rows.
        hierarchy: The hierarchy.
        columns: As in `placed`.
        records: The rows of tables each of whose rows is one of an instance, so that a further one
            of it is another place.
        where: The data, for messages.

    Raises:
        AskedError: As `placed` does.
        SchemaError: If an instance has two groups, or two values of a stratum.
    """
    instances, order = _instances(rows, where)
    said = rows.said.with_columns(n=counts_of(rows.column("said"), len(rows.said)))
    asserted = said.filter("counted")
    free = asserted.filter(pl.col("label").is_not_null() & pl.col("refused").is_null())
    counts = free.group_by("label", "table").agg(rows=pl.col("n").sum())
    found = placed(counts, hierarchy, columns, where)
    hierarchy = found.hierarchy
    lines, of_said = _lines(said, found)
    written = _pairs(rows, order, of_said["line"], len(lines), "line", distinct=True)
    assertions = _assertions(rows, order, of_said["node"], len(hierarchy))
    labels = counts_of(assertions["instance"].to_numpy(), len(instances))
    if labels.max(initial=0) >= MANY:
        each = assertions.group_by("instance").agg(pl.col("node").n_unique())
        refuse_many_pairs(each["node"], len(hierarchy), where)
    met = counts_of(written["line"].to_numpy(), len(lines)).astype(np.uint32)
    lines = lines.with_columns(instances=met)
    refusals = lines.drop_nulls("reason").drop("node", "added")
    return {
        "hierarchy": hierarchy,
        "instances": instances,
        "assertions": assertions,
        "refusals": refusals,
        "mappings": lines.filter(pl.col("reason").is_null()).drop("reason"),
        "written": written,
        "places": _places(rows, records, order),
        "ledger": Ledger(
            rows_read=int(asserted["n"].sum()),
            rows_mapped=len(assertions),
            refused=refused_rows(refusals),
            instances=len(instances),
            instances_without_labels=int((labels == 0).sum()),
            groups=instances["group"].drop_nulls().n_unique() or None,
        ),
        "order": order,
        "unnamed": instances.select(),
        "readings": found.readings,
        "persons": hierarchy.coding is not None and hierarchy.coding.persons,
    }


def _lines(said: pl.DataFrame, found: Placed) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A line for each label as written, ``reason, label, table, node, added, rows``; and ``line``
    and ``node``, both as numbers, of all that is said, -1 where there is none."""
    nodes = pl.DataFrame({"node": found.hierarchy.nodes}).with_row_index("number")
    places, by = found.frame.join(nodes, on="node", how="left"), ["label", "table"]
    told = said.join(places, on=by, how="left", nulls_equal=True, maintain_order="left")
    lacking = pl.when(pl.col("label").is_null()).then(pl.lit("missing_code"))
    told = told.with_columns(reason=pl.coalesce("refused", lacking, "reason"))
    by_line = told.filter("counted").group_by(_AS_WRITTEN)
    lines = by_line.agg(pl.first("node", "added"), rows=pl.col("n").sum().cast(pl.UInt32))
    lines = lines.sort(_AS_WRITTEN, nulls_last=[False, True, True])
    numbers = lines.select(_AS_WRITTEN).with_row_index("line")
    of_said = told.join(
        numbers, on=_AS_WRITTEN, how="left", nulls_equal=True, maintain_order="left"
    )
    node = pl.when(pl.col("reason").is_null()).then("number")
    both = {"line": pl.col("line"), "node": node}
    return lines, of_said.select(
        pl.when("counted").then(one).cast(pl.Int64).fill_null(-1).alias(name)
        for name, one in both.items()
    )


def _instances(rows: NumberedRows, where: object) -> tuple[pl.DataFrame, IntArray]:
    """The instances in the order of their ids, and the place of each among them by its number."""
    about, ids = rows.about, rows.ids.alias("instance")
    roles = [name for name in about.columns if name == "group" or name.startswith(STRATUM)]
    by_instance = about.group_by("instance")
    for role in roles:
        values = by_instance.agg(pl.col(role).drop_nulls().unique(maintain_order=True))
        torn = values.filter(pl.col(role).list.len() > 1).sort("instance")
        if not torn.is_empty():
            cases = torn.with_columns(ids.gather(torn["instance"])).select(
                pl.format("{} in {}", "instance", pl.col(role).list.join(", "))
            )
            name = role.removeprefix(STRATUM)
            raise SchemaError(
                f"an instance must be in one {name}",
                found=f"in several: {first_cases(cases.to_series().head(5), torn.height)}",
                where=where,
                hint="name the column that holds the group with --group, or the id with --id"
                if role == "group"
                else f"leave {name!r} out of the policy, or name the id with --id",
            )
    each = [pl.col(*roles).drop_nulls().first()] if roles else []
    each += [pl.col("split").min()] if "split" in about.columns else []
    found = by_instance.agg(each).sort("instance").drop("instance")
    every = pl.concat([pl.DataFrame(schema=INSTANCES), found.hstack([ids])], how="diagonal")
    named = every.rename({role: role.removeprefix(STRATUM) for role in roles})
    sorted_ids = ids.arg_sort().to_numpy()
    order = np.empty(len(ids), np.int64)
    order[sorted_ids] = np.arange(len(ids))
    return named[sorted_ids], order


def _pairs(
    rows: NumberedRows,
    order: IntArray,
    of_said: pl.Series,
    width: int,
    name: str,
    *,
    distinct: bool,
) -> pl.DataFrame:
    """``instance`` (its place) and, as ``name``, the value of ``of_said`` at its rows; ascending.

    Args:
        of_said: A value below ``width`` for each of `NumberedRows.said`; negative: no such rows.
        distinct: Whether equal pairs are one.
    """
    keys, numbers = Growing(np.int64), of_said.to_numpy()
    instance, said = rows.column("instance"), rows.column("said")
    for some in slices(len(rows)):
        number, own = numbers[said[some]], instance[some]
        kept = (number >= 0) & (own != NOBODY)
        keys.add(order[own[kept]] * width + number[kept])
    ordered, before = keys.whole(), -1
    ordered.sort()
    ends = Growing(np.uint32), Growing(np.uint32)
    for some in slices(len(ordered)):
        part = ordered[some]
        if distinct:
            part = part[np.diff(part, prepend=before) > 0]
            before = ordered[some][-1]
        for end, values in zip(ends, np.divmod(part, max(width, 1)), strict=True):
            end.add(values)
    return pl.DataFrame({"instance": ends[0].whole(), name: ends[1].whole()})


def _assertions(
    rows: NumberedRows, order: IntArray, node_of: pl.Series, n_nodes: int
) -> pl.DataFrame:
    """``instance, node, position`` of each row that has a node, by instance, position and node."""
    if not rows.has_positions:
        pairs = _pairs(rows, order, node_of, n_nodes, "node", distinct=False)
        return pairs.with_columns(position=pl.lit(None, pl.Int64))
    node, instance = node_of.to_numpy()[rows.column("said")], rows.column("instance")
    kept = np.flatnonzero((node >= 0) & (instance != NOBODY))
    found = {
        "instance": order[instance[kept]].astype(np.uint32),
        "node": node[kept].astype(np.uint32),
        "position": pl.Series(rows.column("position")[kept]).replace(NO_POSITION, None),
    }
    return pl.DataFrame(found).sort("instance", "position", "node", nulls_last=True)


def _places(rows: NumberedRows, records: Sequence[slice], order: IntArray) -> pl.DataFrame:
    """Places of instances met in several records, or else in several splits."""
    instance, several = rows.column("instance"), np.full(len(rows), not records)
    for some in records:
        several[some] = True
    place = rows.column("row" if records else "split")
    several &= (instance != NOBODY) & ((place != NOBODY) | bool(records))
    pairs = np.unique(instance[several].astype(np.int64) << 32 | place[several]) >> 32
    met = np.bincount(pairs, minlength=len(order)) > 1
    at = np.flatnonzero(several)
    at = at[met[instance[at]]]
    named = rows.written(at).with_columns(place=place[at], number=order[instance[at]])
    labels = pl.col("label").drop_nulls().sort().alias("labels")
    by_place = named.group_by("number", "instance", "place").agg(pl.first("split"), labels)
    found = by_place.sort("number", "split", pl.col("labels").list.join("\0"))
    return found.select(pl.col("number").cast(pl.UInt32).alias("instance"), "split", "labels")
