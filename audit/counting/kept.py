"""Counts stored in a run, so that the counts of further instances can be added to them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from audit.base.disk import on_disk
from audit.base.errors import InputError
from audit.base.files import read_table
from audit.counting.added import refuse_other_codes
from audit.counting.counts import PairCount
from audit.counting.storage.spill import SpilledTail
from audit.counting.storage.sums_file import write_sums
from audit.data.mapping import LABELS, label_nodes
from audit.engine.pairs.record_counts import KINDS, RecordCounts
from audit.engine.pairs.sums import counts_only
from audit.engine.pairs.tally import Batch, PairTally
from audit.hierarchies.hierarchy import Hierarchy

FOLDER = "counts"
"""Name of the folder of the counts, below the restricted part of a run."""

_SOURCES, _LABELS, _NODES, _RECORDS, _PAIRS, _ENTAILED = (
    f"{name}.parquet" for name in ("sources", "labels", "nodes", "records", "pairs", "entailed")
)
_OF_STRATA = "strata.parquet"
"""What counts by stratum were kept in, before pairs were judged by margins alone."""
_COLUMNS = {
    _SOURCES: ("sha256",),
    _LABELS: (*LABELS, "node"),
    _NODES: ("node", "parents", "direct", "support", "residual"),
    _RECORDS: ("kind", "key", "count"),
    _ENTAILED: ("key", "joint"),
}


def write_counts(count: PairCount, folder: Path, sources: Iterable[str] = ()) -> None:
    """Write counts to a folder; equal counts give equal bytes.

    Args:
        count: The counts.
        folder: The folder to write to.
        sources: Digests of all files that were counted.

    Raises:
        OutputError: If the disk is full.
    """
    entailed = count.tally.entailed
    tables = {
        _SOURCES: pl.DataFrame({"sha256": sorted(sources)}, {"sha256": pl.String}),
        _LABELS: count.labels.written.select(_COLUMNS[_LABELS]),
        _NODES: _nodes(count),
        _RECORDS: count.record_frame,
        _ENTAILED: pl.DataFrame({"key": entailed.keys, "joint": entailed.joint}),
    }
    with on_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            pq.write_table(table.to_arrow(), folder / name)
        write_sums(count.tally.sums(), folder / _PAIRS)


def read_counts(folder: Path, hierarchy: Hierarchy) -> PairCount:
    """Read stored counts; pairs stay on the disk until they are used.

    Args:
        folder: The folder that `write_counts` wrote to.
        hierarchy: The hierarchy that was counted with, before labels added nodes to it.

    Raises:
        InputError: If there are no counts, or they are damaged or of another hierarchy.
    """
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
    if table.columns != list(_COLUMNS[name]):
        raise InputError(
            f"a table of {', '.join(_COLUMNS[name])} is required",
            found=f"one of {', '.join(table.columns)}",
            where=folder / name,
            hint="audit all data together",
        )
    return table


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
