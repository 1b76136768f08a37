"""Counts stored in a run, and the counts of further instances added to them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow.parquet as pq

from audit.base.dag import IntArray
from audit.base.disk import on_disk
from audit.base.errors import InputError, first_cases
from audit.base.files import read_table
from audit.counting.counts import PairCount
from audit.counting.storage import SpilledTail, write_sums
from audit.data.mapping import LABELS, LabelNodes, label_nodes
from audit.engine.pairs.pair_counts import PairCounts
from audit.engine.pairs.record_counts import KINDS, Kind, RecordCounts
from audit.engine.pairs.sums import Sums, counts_only
from audit.engine.pairs.tally import Batch, PairTally
from audit.hierarchies.hierarchy import Hierarchy


def refuse_other_nodes(before: PairCount, labels: LabelNodes, residual: IntArray) -> None:
    """Raise InputError if the nodes of an earlier count have changed since.

    Args:
        residual: As in `PairCount`, for the nodes of ``labels``.
    """
    refuse_other_codes(before.labels.written, labels)
    old, new = before.hierarchy, labels.hierarchy
    at = _places(before, labels)
    hint = "audit all data together"
    turned = (old.height == 0) & (new.height[at] > 0)
    if turned.any():
        raise InputError(
            "labels that do not hang below a leaf of the earlier count are required",
            found=f"labels below {first_cases(np.array(old.nodes)[turned].tolist())}",
            hint=hint,
        )
    otherwise = residual[at] != before.residual
    if otherwise.any():
        raise InputError(
            "the same residual nodes as in the earlier count are required",
            found=f"a policy that treats {first_cases(np.array(old.nodes)[otherwise].tolist())} "
            "otherwise",
            hint=hint,
        )


def refuse_other_codes(before: pl.DataFrame, labels: LabelNodes) -> None:
    """Raise InputError if labels are read as other codes than when they were counted."""
    own = pl.struct("label", "homeless", "node")
    known = labels.written.select(own).to_series().implode()
    other = before.filter(~own.is_in(known, nulls_equal=True))
    if not other.is_empty():
        raise InputError(
            "labels that are read as the codes that were counted earlier are required",
            found=first_cases(other["label"]),
            hint="audit all data together",
        )


def with_added(count: PairCount, before: PairCount) -> PairCount:
    """Add two counts, as if all instances had been counted at once; ``count`` is modified."""
    at, n = _places(before, count.labels), len(count.hierarchy)
    tally = before.tally
    counted = Batch(
        lengths=tally.lengths,
        direct=_moved(tally.direct_support, at, n),
        support=_moved(tally.support, at, n),
        entailed=_rekeyed(tally.entailed, at, tally.n_nodes, n),
    )
    count.tally.add_counted(counted, (_moved_pairs(pairs, at) for pairs in tally.blocks()))
    count.records.add(_moved_records(before, count, at))
    return PairCount(count.labels, count.tally, count.records, count.residual, count.holder)


def _places(before: PairCount, labels: LabelNodes) -> IntArray:
    """Index that each node of the earlier count has now, ascending."""
    index = labels.hierarchy.index
    return np.array([index(node) for node in before.hierarchy.nodes], np.int64)


def _moved(counts: IntArray, at: IntArray, size: int) -> IntArray:
    """Counts by node, shape (..., n_nodes), where the nodes are now."""
    found = np.zeros((*counts.shape[:-1], size), np.int64)
    found[..., at] = counts
    return found


def _moved_pairs(pairs: PairCounts, at: IntArray) -> PairCounts:
    return PairCounts(at[pairs.a], at[pairs.b], pairs.joint, pairs.confusion_sum)


def _rekeyed(sums: Sums, at: IntArray, n_before: int, n: int) -> Sums:
    """Sums by ``first * n_before + node``, with ``n`` nodes; they stay in order."""
    first, node = np.divmod(sums.keys, n_before)
    return Sums(at[first] * n + at[node], sums.joint, sums.confusion)


def _within_parts(sums: Sums, at: IntArray, n_before: int, n: int) -> Sums:
    """Sums by ``part * n_before + node``, with ``n`` nodes; they stay in order."""
    part, node = np.divmod(sums.keys, n_before)
    return Sums(part * n + at[node], sums.joint, sums.confusion)


def _moved_records(before: PairCount, count: PairCount, at: IntArray) -> RecordCounts:
    n_before, n = before.tally.n_nodes, count.tally.n_nodes
    by_node: tuple[Kind, ...] = ("repeated", "below", "labels_squared", "alone")
    by_part: tuple[Kind, ...] = ("only_residual", "carried", "labelled")
    moved: dict[Kind, Sums] = {}
    for kind in KINDS:
        sums = before.records.of(kind)
        if kind in by_node:
            sums = Sums(at[sums.keys], sums.joint, sums.confusion)
        elif kind == "nested":
            sums = _rekeyed(sums, at, n_before, n)
        elif kind in by_part:
            sums = _within_parts(sums, at, n_before, n)
        elif kind == "between":
            part, node = np.divmod(sums.keys, n_before)
            inner = _within_parts(Sums(part, sums.joint, sums.confusion), at, n_before, n)
            sums = Sums(inner.keys * n + at[node], sums.joint, sums.confusion)
        elif kind == "label":
            numbers = _numbers(before.labels, count.labels)
            order = np.argsort(numbers[sums.keys], kind="stable")
            sums = Sums(numbers[sums.keys], sums.joint, sums.confusion)[order]
        moved[kind] = sums
    return RecordCounts(moved)


def _numbers(before: LabelNodes, labels: LabelNodes) -> IntArray:
    """Number that each label of the earlier count has now."""
    old, new = (
        found.written.filter(~pl.col("homeless")).select("label", "number")
        for found in (before, labels)
    )
    joined = old.join(new, on="label", nulls_equal=True, how="left", maintain_order="left")
    return joined["number_right"].to_numpy()


FOLDER = "counts"
"""Name of the folder of the counts, below the restricted part of a run."""

_SOURCES, _LABELS, _NODES, _RECORDS, _PAIRS, _ENTAILED = (
    f"{name}.parquet" for name in ("sources", "labels", "nodes", "records", "pairs", "entailed")
)
_OF_STRATA = "strata.parquet"
"""What counts by stratum were kept in, before pairs were judged by margins alone."""
_SCHEMAS = {
    _SOURCES: pl.Schema({"sha256": pl.String}),
    _LABELS: pl.Schema({**LABELS, "node": pl.String}),
    _NODES: pl.Schema(
        {
            "node": pl.String(),
            "parents": pl.List(pl.String),
            "direct": pl.Int64(),
            "support": pl.Int64(),
            "residual": pl.Int64(),
        }
    ),
    _RECORDS: pl.Schema({"kind": pl.String, "key": pl.Int64, "count": pl.Int64}),
    _ENTAILED: pl.Schema({"key": pl.Int64, "joint": pl.Int64}),
}
FILES = (*_SCHEMAS, _PAIRS)
"""Names of the files in it."""


def write_counts(count: PairCount, folder: Path, sources: Iterable[str] = ()) -> None:
    """Write counts to a folder; equal counts give equal bytes."""
    entailed = count.tally.entailed
    tables = {
        _SOURCES: pl.DataFrame({"sha256": sorted(sources)}, {"sha256": pl.String}),
        _LABELS: count.labels.written.select(*_SCHEMAS[_LABELS]),
        _NODES: _nodes(count),
        _RECORDS: count.record_frame,
        _ENTAILED: pl.DataFrame({"key": entailed.keys, "joint": entailed.joint}),
    }
    with on_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            pq.write_table(table.cast(_SCHEMAS[name]).to_arrow(), folder / name)
        write_sums(count.tally.sums(), folder / _PAIRS)


def read_counts(folder: Path, hierarchy: Hierarchy) -> PairCount:
    """Read stored counts; pairs stay on the disk until they are used."""
    if (folder / _OF_STRATA).is_file():
        raise InputError(
            "a run whose counts judge pairs by their margins is required",
            found="counts by stratum, which an earlier version of audit kept",
            where=folder,
            hint="count all data together, from their files",
        )
    if not (folder / _RECORDS).is_file():
        raise InputError(
            "a run that keeps its counts is required",
            found="none",
            where=folder,
            hint="make it with: audit run ... --memory SIZE, or --engine spark",
        )
    kept = _read(folder, _LABELS)
    labels = label_nodes(kept.select(*LABELS), hierarchy, folder)
    refuse_other_codes(kept, labels)
    nodes, placed = _read(folder, _NODES), _parents_by_node(labels.hierarchy)
    if not nodes.select(placed.columns).equals(placed):
        raise InputError(
            "the hierarchy that the earlier data were counted with is required",
            found=f"another of {len(labels.hierarchy):,} nodes",
            where=folder,
            hint="audit all data together",
        )
    records = _read_records(_read(folder, _RECORDS))
    return PairCount(
        labels=labels,
        tally=_read_tally(folder, labels.hierarchy, nodes, records),
        records=records,
        residual=nodes["residual"].to_numpy(),
    )


def counted_sources(folder: Path) -> frozenset[str]:
    """Digests of all files whose instances are in stored counts."""
    return frozenset(_read(folder, _SOURCES)["sha256"])


def _read(folder: Path, name: str) -> pl.DataFrame:
    """A table that was kept, if it is one."""
    table = read_table(folder / name)
    if table.schema != _SCHEMAS[name]:
        raise InputError(
            f"a table of {_columns(_SCHEMAS[name])} is required",
            found=f"one of {_columns(table.schema)}",
            where=folder / name,
            hint="audit all data together",
        )
    return table


def _columns(schema: pl.Schema) -> str:
    return ", ".join(f"{name} ({kind})" for name, kind in schema.items())


def _parents_by_node(hierarchy: Hierarchy) -> pl.DataFrame:
    """``node, parents``: what a count rests on."""
    parents = [list(hierarchy.parents(node)) for node in hierarchy.nodes]
    return pl.DataFrame(
        {
            "node": pl.Series(hierarchy.nodes, dtype=pl.String),
            "parents": pl.Series(parents, dtype=pl.List(pl.String)),
        }
    )


def _nodes(count: PairCount) -> pl.DataFrame:
    return _parents_by_node(count.hierarchy).with_columns(
        pl.Series("direct", count.tally.direct_support),
        pl.Series("support", count.tally.support),
        pl.Series("residual", count.residual),
    )


def _read_records(table: pl.DataFrame) -> RecordCounts:
    found = {}
    for kind in KINDS:
        some = table.filter(kind=kind)
        found[kind] = counts_only(some["key"].to_numpy(), some["count"].to_numpy())
    return RecordCounts(found)


def _read_tally(
    folder: Path, hierarchy: Hierarchy, nodes: pl.DataFrame, records: RecordCounts
) -> PairTally:
    tail = SpilledTail(folder, memory=0, runs=[_PAIRS])
    tally = PairTally(hierarchy.closure, square=0, tail=tail)
    entailed = _read(folder, _ENTAILED)
    counted = Batch(
        lengths=records.at("length", 0),
        direct=nodes["direct"].to_numpy(),
        support=nodes["support"].to_numpy(),
        entailed=counts_only(entailed["key"].to_numpy(), entailed["joint"].to_numpy()),
    )
    tally.add_counted(counted, ())
    return tally
