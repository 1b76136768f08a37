"""Mapping of distinct labels to nodes, and the ledger of the rows that carry them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.readings import Reading
from audit.data.code_sets import AS_WRITTEN, read_as_codes, refuse_both_versions, table_stated
from audit.data.known_nodes import beginning
from audit.hierarchies.coding import Placement
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.label_words import MARKS, bare, is_plain, read_words
from audit.hierarchies.titles import ENDS, node_spelt, nodes_by_end, nodes_by_title, title_key

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


def refusals_of(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each refused label, as `LabelDataset.refusals`."""
    return (
        rows.filter(pl.col("reason").is_not_null())
        .group_by("reason", "label", "table")
        .agg(pl.len().alias("rows"), pl.col("instance").drop_nulls().n_unique().alias("instances"))
        .sort("reason", "label", "table", nulls_last=True)
    )


def mappings_of(mapped: pl.DataFrame) -> pl.DataFrame:
    """A row for each mapped label, as `LabelDataset.mappings`."""
    counted = {"rows": pl.len(), "instances": pl.col("instance").n_unique()}
    each = mapped.group_by("label", "table").agg(pl.first("node", "added"), **counted)
    return each.sort("label", "table", nulls_last=True)


def refused_rows(refusals: pl.DataFrame) -> Mapping[str, int]:
    """Number of refused rows by reason, as `REASONS` orders them, from ``reason, rows``."""
    refused = dict(refusals.group_by("reason").agg(pl.col("rows").sum()).iter_rows())
    return {reason: refused[reason] for reason in REASONS if reason in refused}


def placed_labels(
    labels: pl.DataFrame, hierarchy: Hierarchy, where: object = ""
) -> tuple[Hierarchy, pl.DataFrame, tuple[Reading, ...]]:
    """Map labels to nodes, adding nodes for labels that have a place but no node yet.

    Args:
        labels: ``label, table, rows``: each distinct label as written, and how many rows have it.
        hierarchy: The hierarchy.
        where: The dataset, for messages.

    Returns:
        The hierarchy with the added nodes; ``label, table, node, added, reason``, where ``added``
        is whether the node was added, and a label with a ``reason`` was refused and has no node;
        and what the labels were taken to mean.
    """
    labels = labels.sort("label", "table")
    fits = [hierarchy.words.before(label) is not None for label in labels["label"]]
    others = labels.filter(~pl.Series(fits, dtype=pl.Boolean))
    labels = labels.filter(pl.Series(fits, dtype=pl.Boolean))
    codes, of_codes = read_as_codes(labels, hierarchy, where)
    rest = labels.join(codes, on=["label", "table"], how="anti", nulls_equal=True)
    read, of_texts = read_texts(rest, hierarchy)
    written = pl.concat([read, codes])
    known = written.drop_nulls("text").select(label="text", table="set").unique()
    hierarchy, placed = _placed(known, hierarchy)
    placed = placed.rename({"label": "text", "table": "set"})
    joined = written.join(placed, on=["text", "set"], how="left", nulls_equal=True)
    nothing = pl.when(pl.col("text").is_null()).then(pl.lit("missing_code"))
    told = joined.with_columns(
        pl.col("added").fill_null(False), reason=pl.coalesce(nothing, "reason")
    )
    left = others.select("label", "table", added=pl.lit(False), reason=pl.lit("left_out"))
    told = pl.concat([told.drop("text", "set"), left], how="diagonal").sort("label", "table")
    return hierarchy, told, (*of_codes, *of_texts)


def read_texts(
    labels: pl.DataFrame, hierarchy: Hierarchy
) -> tuple[pl.DataFrame, tuple[Reading, ...]]:
    """What distinct labels are that may be titles, words for nothing, or have something around.

    From ``label, table, rows`` to ``label, table, text, set``, ``text`` null where a label stands
    for no code; and what is to be told.
    """
    titled, of_titles = _titled(labels, hierarchy)
    rest = labels.join(titled, on=["label", "table"], how="anti", nulls_equal=True)
    texts, readings = read_words(
        rest,
        hierarchy.words,
        lambda text, table: hierarchy.place(text, table).listed,
        hierarchy.integrity is not None,
        lambda text: text in hierarchy or node_spelt(text, hierarchy) is not None,
        titled["label"],
    )
    read = rest.select("label", "table", text=pl.Series(texts, dtype=pl.String), set="table")
    return pl.concat([read, titled]), (*of_titles, *readings)


_WORD = re.compile(r"[^\W\d_]{2}")
"""What a title has, and hardly a code."""


def _titled(labels: pl.DataFrame, hierarchy: Hierarchy) -> tuple[pl.DataFrame, tuple[Reading, ...]]:
    """Labels that are nodes but for their spelling, or titles of nodes, if most that are no nodes
    are some; as `read_texts`."""
    found = pl.DataFrame(schema=dict.fromkeys(("label", "table", "text", "set"), pl.String))
    coded, strip = hierarchy.integrity is not None, hierarchy.words.strip
    odd = [
        (label, table, rows, text)
        for label, table, rows in labels.select("label", "table", "rows").iter_rows()
        if (text := bare(label, strip)) not in hierarchy and not (coded and is_plain(text))
    ]
    odd = [row for row in odd if not hierarchy.words.mean_nothing(row[3])]
    if None in hierarchy.codes.values():
        return found, ()
    every = [row[3] for row in odd]
    whole = 2 * sum(node_spelt(one, hierarchy) is not None for one in every) > len(every)
    before = "" if strip or whole or len(odd) < len(labels) else beginning(every)
    spelt = [(*row, one) for row in odd if (one := _spelt(row[3], before, hierarchy))]
    touched = sum(row[2] for row in spelt)
    if 2 * touched > sum(row[2] for row in odd):
        if {one[1] for *_, one in spelt} == {ENDS}:
            spelt += _ends_too(labels, touched, hierarchy)
            touched = sum(row[2] for row in spelt)
        rows = [(label, table, one[0], table) for label, table, *_, one in spelt]
        ways = sorted({one[1] for *_, one in spelt if one[1]})
        ways += [f"behind {before!r}"] if before else []
        respelt = Reading(
            f"labels that are no nodes are nodes {' and '.join(ways)}",
            "most of them then are one node", touched, f"--codes {AS_WRITTEN}",
        )  # fmt: skip
        return pl.DataFrame(rows, found.schema, orient="row"), (respelt,)
    if not any(_WORD.search(row[3]) for row in odd):
        return found, ()
    nodes = nodes_by_title(hierarchy)

    def of(*texts: str) -> str | None:
        return next(filter(None, (nodes.get(title_key(text)) for text in texts)), None)

    titled = [(*row, node) for row in odd if (node := of(row[3]))]
    others = [row for row in odd if not (strip or of(row[3]))]
    marked = [(*r, node) for r in others if (node := of(r[3].strip(" ?"), r[3].strip(MARKS)))]
    touched, wrapped = (sum(row[2] for row in some) for some in (titled, marked))
    if 2 * (touched + wrapped) <= sum(row[2] for row in odd):
        return found, ()
    told = Reading(
        "labels that are no nodes are titles of nodes",
        "most of them are the title of one node", touched + wrapped, f"--codes {AS_WRITTEN}",
    )  # fmt: skip
    unmarked = Reading(
        "marks around titles are no part of them",
        "without it they are titles of nodes", wrapped, "--strip PATTERN",
    )  # fmt: skip
    rows = [(label, table, node, table) for label, table, *_, node in (*titled, *marked)]
    return pl.DataFrame(rows, found.schema, orient="row"), (told, *([unmarked] if wrapped else []))


def _ends_too(
    labels: pl.DataFrame, rows: int, hierarchy: Hierarchy
) -> list[tuple[str, str | None, int, str, tuple[str, str]]]:
    """Labels that are nodes as they stand, and as ends of others like so many rows of labels, if
    hardly any label is a node in the first way alone."""
    ends = nodes_by_end(hierarchy)
    every = labels.select("label", "table", "rows").iter_rows()
    own = [row for row in every if row[0] in hierarchy]
    both = [row for row in own if row[0] in ends]
    alone = sum(row[2] for row in own) - sum(row[2] for row in both)
    return [(*row, row[0], (ends[row[0]], ENDS)) for row in both] if _MANY * alone < rows else []


_MANY = 10
"""One row in so many is hardly any."""


def _spelt(text: str, before: str, hierarchy: Hierarchy) -> tuple[str, str] | None:
    """The node of a text behind what all labels begin with, and how it is spelt."""
    core = text.removeprefix(before)
    return (core, "") if before and core in hierarchy else node_spelt(core, hierarchy)


def _placed(labels: pl.DataFrame, hierarchy: Hierarchy) -> tuple[Hierarchy, pl.DataFrame]:
    """The hierarchy with the added nodes, and the places of texts of labels."""
    labels = labels.select("label", "table").sort("label", "table")
    places = [place(label, table, hierarchy) for label, table in labels.iter_rows()]
    placed = labels.with_columns(
        pl.Series("node", [p.node for p in places], pl.String),
        pl.Series("parent", [p.parent for p in places], pl.String),
        pl.Series("reason", [p.reason for p in places], pl.String),
    )
    added = placed.with_columns(added=pl.col("parent").is_not_null()).drop("parent")
    return grown(hierarchy, placed), added


def place(label: str, table: str | None, hierarchy: Hierarchy) -> Placement:
    """The placement of a label as written, given how the hierarchy treats labels that it lacks.

    A code that no edition of the classification has is refused as malformed, wherever its digits
    would place it.
    """
    found = hierarchy.place(label, table)
    integrity = hierarchy.integrity
    if integrity is not None and integrity.never_valid(found):
        return Placement(reason="malformed_code")
    lacked = found.parent is not None or found.reason == "no_place"
    if lacked and hierarchy.unlisted == "refuse":
        return Placement(reason="unknown_code")
    return found


def grown(hierarchy: Hierarchy, placed: pl.DataFrame) -> Hierarchy:
    """The hierarchy with a node added for each placement, ``node, parent``, that has a parent."""
    new = placed.filter(pl.col("parent").is_not_null()).unique("node").sort("node")
    if new.is_empty():
        return hierarchy
    titles = [hierarchy.further_titles.get(node) for node in new["node"]]
    nodes = new.select(
        "node", pl.Series("title", titles, pl.String), pl.lit(True).alias("assignable")
    )
    return hierarchy.extend(new.select(pl.col("node").alias("child"), "parent"), nodes)


KEYS = ("label", "table", "homeless")
LABELS: dict[str, Any] = dict(zip(KEYS, (pl.String, pl.String, pl.Boolean), strict=True))
LABELS["rows"] = pl.Int64
"""Columns of label counts: number of assertions by label, by their table or the reason to refuse
them that rules of rows give, and by whether they lack an instance."""


@dataclass(frozen=True, eq=False)
class LabelNodes:
    """The mapped labels of a source that is counted without loading its instances.

    Args:
        hierarchy: The hierarchy, with a node for every label that was kept.
        written: ``label, table, homeless, rows, number, reason, node, added``: the labels as
            written; ``number`` is null if the rows have no instance, ``node`` and ``added`` if the
            label is refused.
        node_of: Node of each label number, shape (n_labels,); -1: refused.
        reason_of: Position in `REASONS` of each label number, shape (n_labels,); -1: not refused.
        readings: What columns, cells and labels were taken to mean.
        persons: Whether the format holds records of persons.
    """

    hierarchy: Hierarchy
    written: pl.DataFrame
    node_of: IntArray
    reason_of: IntArray
    readings: tuple[Reading, ...] = ()
    persons: bool = False

    @property
    def counts(self) -> pl.DataFrame:
        """Number of assertions of each label, as `label_counts` returns it."""
        return self.written.select(*LABELS)

    def numbered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Convert rows of `audit.data.batches.labels_of` to `audit.counting.passes.ROWS`."""
        keys = [key for key in ("label", "table") if key in rows.columns]
        rows = rows.with_columns(table_stated(self.hierarchy)) if "table" in keys else rows
        numbers = self.written.filter(~pl.col("homeless")).select(*keys, "number")
        joined = rows.join(numbers, on=keys, how="left", nulls_equal=True, maintain_order="left")
        return joined.select("instance", pl.when("counted").then("number").alias("label"), "row")

    def ledger(self, instances: int, without_labels: int) -> Ledger:
        """The ledger of all rows, given the counts of instances; groups are not read."""
        refused = refused_rows(self.refusals())
        read = int(self.written["rows"].sum())
        return Ledger(
            rows_read=read,
            rows_mapped=read - sum(refused.values()),
            refused=refused,
            instances=instances,
            instances_without_labels=without_labels,
            groups=None,
        )

    def refusals(self, instances: IntArray | None = None) -> pl.DataFrame:
        """The refused labels, in the form of `LabelDataset.refusals`.

        ``instances`` is their number with each label, by label number, shape (n_labels,); None: not
        counted yet.
        """
        refused = self._with(instances).filter(pl.col("reason").is_not_null())
        by_label = refused.group_by("reason", "label", "table").agg(
            pl.col("rows", "instances").sum()
        )
        return by_label.sort("reason", "label", "table", nulls_last=True)

    def mappings(self, instances: IntArray) -> pl.DataFrame:
        """The mapped labels, in the form of `LabelDataset.mappings`; parameters as `refusals`."""
        mapped = self._with(instances).filter(pl.col("node").is_not_null())
        columns = ("label", "table", "node", "added", "rows", "instances")
        return mapped.select(columns).sort("label")

    def _with(self, instances: IntArray | None) -> pl.DataFrame:
        counts = np.zeros(len(self.node_of), np.int64) if instances is None else instances
        counted = pl.DataFrame({"number": np.arange(len(counts)), "instances": counts})
        joined = self.written.join(counted, on="number", how="left").with_columns(
            pl.col("instances").fill_null(0),
            table=pl.when(~pl.col("table").is_in(REASONS)).then("table"),
        )
        return joined.with_columns(pl.col("rows", "instances").cast(pl.UInt32))


def label_counts(rows: pl.DataFrame) -> pl.DataFrame:
    """Number of assertions of each label, from rows with ``instance, label, counted``."""
    table = [] if "table" in rows.columns else [pl.lit(None, pl.String).alias("table")]
    asserted = rows.filter("counted").with_columns(*table, homeless=pl.col("instance").is_null())
    return asserted.group_by(KEYS).agg(pl.len().cast(pl.Int64).alias("rows"))


def summed_counts(counts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Sum of the label counts of several batches, sorted by label."""
    together = pl.concat([pl.DataFrame(schema=LABELS), *counts])
    by_label = together.group_by(KEYS).agg(pl.col("rows").sum())
    return by_label.sort(KEYS, nulls_last=True)


def label_nodes(counts: pl.DataFrame, hierarchy: Hierarchy, where: object = "") -> LabelNodes:
    """Map each distinct label of some label counts to its node, or refuse it."""
    homeless, missing = pl.col("homeless"), pl.col("label").is_null()
    told = pl.col("table").is_in(REASONS).fill_null(False)
    counts = _with_stated(counts, hierarchy)
    asked = counts.filter(~homeless & ~missing & ~told)
    labels = asked.select("label", "table", "rows")
    hierarchy, placed, readings = placed_labels(labels, hierarchy, where)
    kept = labels.join(placed, on=["label", "table"], nulls_equal=True)
    refuse_both_versions(kept, hierarchy, where)
    places = placed.rename({"reason": "reason_told"})
    by_label = counts.join(places, on=["label", "table"], how="left", nulls_equal=True)
    reason = pl.when(homeless).then(pl.lit("bad_row")).when(told).then("table")
    reason = reason.when(missing).then(pl.lit("missing_code"))
    written = by_label.with_columns(
        number=pl.when(~homeless).then((~homeless).cum_sum().cast(pl.Int64) - 1),
        reason=reason.otherwise("reason_told"),
        node=pl.when(~homeless).then("node"),
        added=pl.when(~homeless & pl.col("node").is_not_null()).then("added"),
    ).drop("reason_told")
    numbered = written.filter(~homeless)
    indices = {node: index for index, node in enumerate(hierarchy.nodes)}
    reasons = {reason: index for index, reason in enumerate(REASONS)}
    return LabelNodes(
        hierarchy=hierarchy,
        written=written,
        node_of=_places_of(numbered["node"], indices),
        reason_of=_places_of(numbered["reason"], reasons),
        readings=readings,
    )


def _with_stated(counts: pl.DataFrame, hierarchy: Hierarchy) -> pl.DataFrame:
    """Label counts in the tables that are stated for all labels."""
    if "*" not in hierarchy.codes:
        return counts
    return summed_counts([counts.with_columns(table_stated(hierarchy))])


def _places_of(values: pl.Series, places: Mapping[str, int]) -> IntArray:
    return np.array([places.get(value, -1) for value in values], np.int64)
