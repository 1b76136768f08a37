"""Labels as written become nodes: which node each is, what must be asked, the tables of a dataset,
and the ledger of every row."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from audit.base.declared import schema
from audit.base.errors import SchemaError, first_cases
from audit.base.limits import refuse_many_pairs
from audit.base.readings import AskedError, Reading
from audit.data.asking.repairs import best_way
from audit.data.asking.seen import read
from audit.data.columns import AS_WRITTEN, Columns, read_as
from audit.data.labels import Nodes, labels_in
from audit.data.rows import STRATUM
from audit.hierarchies.coding import Placement
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy

_ODD = ("unknown_code", "malformed_code", "no_place")
"""Reasons for which labels are refused that may be nodes when they are read otherwise."""
_OTHER = {"icd9cm": "icd10cm", "icd10cm": "icd9cm"}
_NAMED = {
    "rows": "name the columns with --id and --label, or another --hierarchy",
    "classes": "name classes as labels are named",
}


@dataclass(frozen=True, eq=False)
class Placed:
    """Labels as nodes.

    Args:
        hierarchy: The hierarchy, grown by the nodes of codes that it lacks.
        frame: ``label, table, node, added, reason``, a row for each label of a table; ``added``
            whether its node was added, ``reason`` why it has none.
        readings: What is told of them.
    """

    hierarchy: Hierarchy
    frame: pl.DataFrame
    readings: tuple[Reading, ...] = ()


def placed(
    counts: pl.DataFrame,
    hierarchy: Hierarchy,
    columns: Columns | None = None,
    where: object = "",
    unit: Literal["rows", "classes"] = "rows",
) -> Placed:
    """Place labels in a hierarchy.

    Args:
        counts: ``label, table, rows``: each label as written, and how many rows have it.
        hierarchy: The hierarchy.
        columns: How cells and labels are read; None: as they are written, and nothing is asked.
        where: The data, for messages.
        unit: What ``rows`` counts: rows of labels, or the classes of predictions, each once.

    Raises:
        AskedError: If more than one row in ten is refused, and one reading makes nodes of half of
            these, or they are of the other built-in classification, or half of all rows are left.
    """
    labels = counts.select("label", "table", "rows").sort("label", "table")
    words = columns or AS_WRITTEN
    found = [place(label, table, hierarchy, words) for label, table, _ in labels.iter_rows()]
    parts = {part: [getattr(one, part) for one in found] for part in ("node", "parent", "reason")}
    frame = labels.hstack(pl.DataFrame(parts, schema=dict.fromkeys(parts, pl.String)))
    if words.both and hierarchy.name in _OTHER:
        nodes = Nodes(load_hierarchy(_OTHER[hierarchy.name]))
        other = pl.Series([nodes.is_complete(one) for one in frame["label"]], dtype=pl.Boolean)
        version = pl.when(pl.col("reason").is_in(_ODD) & other).then(pl.lit("other_version"))
        frame = frame.with_columns(reason=version.otherwise("reason"))
    asked = columns is not None and columns.unlisted != "refuse"
    readings = _asked(frame, hierarchy, words, where, unit) if asked else ()
    told = frame.with_columns(added=pl.col("parent").is_not_null())
    told = told.select("label", "table", "node", "added", "reason")
    return Placed(_grown(hierarchy, frame), told, readings)


def place(
    label: str, table: str | None, hierarchy: Hierarchy, words: Columns = AS_WRITTEN
) -> Placement:
    """The placement of a label as written, or else as ``words`` read it.

    A code that no edition of the classification has is refused as malformed, wherever its digits
    would place it; with ``refuse`` one that the hierarchy lacks as unknown.
    """
    refuse, integrity = "refuse" in (words.unlisted, hierarchy.unlisted), hierarchy.integrity

    def placed_as(text: str) -> Placement:
        found = hierarchy.place(text, table)
        listed = found.node in hierarchy.further_titles
        if integrity is not None and integrity.never_valid(found) and not listed:
            return Placement(reason="malformed_code")
        lacked = found.parent is not None or found.reason == "no_place"
        return Placement(reason="unknown_code") if lacked and refuse else found

    found = placed_as(label)
    odd = found.reason in (*_ODD, "other_version")  # which a code of the WHO is, with an X behind
    if found.node is not None or not odd:
        return found
    text = read_as(label, words, hierarchy, lambda one: placed_as(one).node is not None)
    return Placement(reason="missing_code") if text is None else placed_as(text)


def _grown(hierarchy: Hierarchy, places: pl.DataFrame) -> Hierarchy:
    """The hierarchy with a node added for each placement, ``node, parent``, that has a parent."""
    new = places.drop_nulls("parent").unique("node").sort("node")
    if new.is_empty():
        return hierarchy
    titles = [hierarchy.further_titles.get(node) for node in new["node"]]
    nodes = new.select("node", title=pl.Series(titles, dtype=pl.String), assignable=pl.lit(True))
    return hierarchy.extend(new.select("parent", child="node"), nodes)


def _asked(
    frame: pl.DataFrame, hierarchy: Hierarchy, columns: Columns, where: object, unit: str
) -> tuple[Reading, ...]:
    """What is told of refused labels; raises AskedError where it must be stated how to read."""
    refused = pl.col("reason").is_in(_ODD)
    may = frame.filter(refused | pl.col("reason").is_null() | (pl.col("reason") == "retired_code"))
    odd = may.filter(refused).sort("rows", descending=True)
    every, rows = int(may["rows"].sum()), int(odd["rows"].sum())
    if 10 * rows <= every:
        return ()
    _ask_version(may, odd, hierarchy, where, unit)
    cases = first_cases(odd["label"])
    found = f"{rows:,} of {every:,} {unit} with labels that are none, such as {cases}"
    cells = may.group_by(cell="label", maintain_order=True).agg(pl.col("rows").sum())
    way = best_way(cells, Nodes(hierarchy), columns)
    apart = unit == "rows" or {"sep", "take"}.isdisjoint(way.options)
    read = _read_by(odd, replace(columns, **way.options), hierarchy) if apart else 0
    if 2 * read >= rows:
        raise AskedError(
            f"how labels are read that are no nodes of {hierarchy.name} is not certain",
            found=found,
            where=where,
            options=way.options,
            reads=f"reads {read:,} of them; --unlisted refuse leaves them out",
        )
    if 2 * rows > every:
        raise AskedError(
            f"labels that are nodes of {hierarchy.name} are required",
            found=found,
            where=where,
            hint=f"{_NAMED[unit]}; --unlisted refuse reads the other {unit} alone",
        )
    decision = f"labels that are no nodes are refused: {cases}"
    why = "no other reading makes nodes of half of them"
    return (Reading(decision, why, rows, "--strip TEXT", unit),)


def _read_by(odd: pl.DataFrame, columns: Columns, hierarchy: Hierarchy) -> int:
    """Number of rows of refused labels that are labels, or words for none, in another way."""
    nodes, total = Nodes(hierarchy), 0
    parts = labels_in(odd["label"], columns)
    for own, table, rows in zip(parts, odd["table"], odd["rows"], strict=True):
        texts = read(dict.fromkeys(own, 1), nodes, columns)
        total += rows * all(nodes.is_complete(text, table) for text in texts)
    return total


def _ask_version(
    may: pl.DataFrame, odd: pl.DataFrame, hierarchy: Hierarchy, where: object, unit: str
) -> None:
    """Raise AskedError where the refused labels are codes of the other built-in classification."""
    if hierarchy.name not in _OTHER:
        return
    other = load_hierarchy(_OTHER[hierarchy.name])
    refused, known = (
        Nodes(other).share(dict(some.group_by("label").agg(pl.col("rows").sum()).iter_rows()))
        for some in (odd, may.filter(pl.col("reason").is_null()))
    )
    if 10 * refused.nodes < 9 * refused.n or 2 * refused.complete < refused.n:
        return
    cases = first_cases(odd["label"])
    share = f"{refused.nodes:,} of {refused.n + known.n:,} {unit}"
    found = f"{share} with codes of {other.name} alone, such as {cases}"
    if 10 * known.nodes >= 9 * known.n:
        raise AskedError(
            f"labels that are codes of {hierarchy.name} are required",
            found=found,
            where=where,
            hint="" if unit == "rows" else "predictions must be of the codes that labels are of",
            options={"hierarchy": other.name} if unit == "rows" else {},
            reads=f"reads {refused.nodes + known.nodes:,} of them",
        )
    raise AskedError(
        "labels that are codes of one version of ICD are required",
        found=f"{found}; E and V codes may be of either",
        where=where,
        hint="--where COLUMN=VALUE reads the rows of one version, where a column says it; "
        "--unlisted refuse reads all other codes as of this one",
    )


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
