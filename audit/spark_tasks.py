"""What each task of a count on Apache Spark makes of its rows; nothing here needs Spark."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
from scipy.sparse import csr_array

from audit.batched import batched
from audit.counting import LABELS_AT_ONCE, Recording
from audit.dag import IntArray, Sparse
from audit.engine.sums import SortedTail, Sums, counts_by_place
from audit.engine.tally import PairTally, count_batch
from audit.label_nodes import LabelNodes, label_counts, summed_counts
from audit.loaders.batches import labels_of
from audit.plan import Plan
from audit.spill import LAST
from audit.spool import LABEL
from audit.strata_counts import NO_STRATUM, StratumCounts, TallyByStratum
from audit.sums_file import packed_sums, unpacked_sums

Frames: TypeAlias = Iterator[pl.DataFrame]

WHERE = Path("rows")
"""What messages call the rows of a frame."""
ALL = -1
"""The stratum of what is counted over all."""
DIRECT = "labels"
"""The kind of recorded rows that hold direct labels; all others hold counts of instances."""
ROWS_AT_ONCE = 250_000
"""Rows that a task looks up, or makes into instances, at a time."""
WORK_AT_ONCE = 1_000_000
"""Work of the instances whose direct labels travel together: what a task is given more or less."""
WORK_PER_LABEL = 32
"""Work of a label beside that of its pairs with the labels of its instance, one each."""
PARTS = 64
"""Parts of the sums of pairs, so that those of all tasks are added up a part at a time."""

_TEXT, _INT, _LONG, _BYTES = pa.string(), pa.int32(), pa.int64(), pa.binary()
LABELS = pa.schema({"label": _TEXT, "homeless": pa.bool_(), "rows": _LONG})
"""Assertions by label, and whether they lack an instance."""
NUMBERED = pa.schema({"instance": _TEXT, "labels": pa.list_(_INT)})
"""Numbers of labels of an instance, of all its rows or of some; -1: the row has none to count."""
RECORDED = pa.schema({"kind": _TEXT, "length": _INT, "spread": _LONG, "packed": _BYTES})
"""Direct labels of some instances with ``length`` of them, or packed counts of instances.

``spread`` is any number, for instances of a length to be given to several tasks.
"""
TALLIES = pa.schema({"stratum": _INT, "kind": _TEXT, "part": _INT, "sums": _BYTES})
"""Packed sums of a kind, within a stratum or over `ALL`, and of which part of the keys."""


@dataclass(frozen=True, eq=False)
class Layout:
    """How all tasks hold and hand out their pairs.

    Args:
        first: Nodes in use, the most frequent first: those to have their pairs in memory.
        bounds: First key of each part, and the key after the last, shape (n_parts + 1,).
    """

    first: IntArray
    bounds: IntArray


def layout_of(labels: LabelNodes) -> Layout:
    """A layout whose parts have about as many pairs each, as far as rows by label tell."""
    n_nodes = len(labels.hierarchy)
    rows = labels.written.filter(~pl.col("homeless")).sort("number")["rows"].to_numpy()
    mapped = labels.node_of >= 0
    direct = np.bincount(labels.node_of[mapped], rows[mapped], minlength=n_nodes)
    carried = np.asarray(direct.astype(np.int64) @ labels.hierarchy.closure)
    used = np.flatnonzero(carried)
    most = np.cumsum(np.minimum(carried[used], np.arange(len(used))[::-1]))
    ends = np.searchsorted(most, np.arange(1, PARTS) / PARTS * most[-1:].sum())
    nodes = np.unique([0, *used[ends[ends < len(used)]], n_nodes])
    return Layout(used[np.argsort(-carried[used], kind="stable")], nodes * n_nodes)


def counted_labels(frames: Iterable[pl.DataFrame]) -> Frames:
    """How often each label is asserted, as `LABELS`."""
    read = batched((labels_of(frame, WHERE) for frame in frames), ROWS_AT_ONCE)
    yield summed_counts(label_counts(rows) for rows in read)


def numbered(labels: LabelNodes, frames: Iterable[pl.DataFrame]) -> Frames:
    """Rows as `NUMBERED`; those that follow each other or stand near are one already."""
    number = pl.col("label").fill_null(-1).cast(pl.Int32)
    for rows in batched((labels_of(frame, WHERE) for frame in frames), ROWS_AT_ONCE):
        known = labels.numbered(rows).drop_nulls("instance")
        yield known.group_by("instance", maintain_order=True).agg(number.alias("labels"))


def recorded(plan: Plan, frames: Iterable[pl.DataFrame]) -> Frames:
    """`NUMBERED` rows, sorted by instance, as `RECORDED`."""
    os.environ["AUDIT_JOBS"] = "1"
    with TemporaryDirectory() as folder, ThreadPoolExecutor(1) as threads:
        recording = Recording(replace(plan, folder=Path(folder)), threads, {})
        for rows in batched((_one_a_label(frame) for frame in frames), ROWS_AT_ONCE):
            recording.add(rows, 0)
        recording.end()
        counts = [(kind, 0, 0, packed_sums(sums)) for kind, sums in recording.counts]
        yield _frame(counts, RECORDED)
        for length in sorted(recording.spool.instances):
            at_once = WORK_AT_ONCE // (length + WORK_PER_LABEL)
            some = recording.spool.batches([length], at_once)
            packed = (direct.indices.astype(LABEL).tobytes() for direct in some)
            chunks = [(DIRECT, length, zlib.crc32(chunk), chunk) for chunk in packed]
            yield _frame(chunks, RECORDED)


def tallied(plan: Plan, layout: Layout, frames: Iterable[pl.DataFrame]) -> Frames:
    """The tally of `DIRECT` rows, sorted by length, as `TALLIES`; on one core."""
    os.environ["AUDIT_JOBS"] = "1"
    hierarchy, cuts = plan.labels.hierarchy, np.asarray(plan.cuts)
    met: list[int] = []
    with TemporaryDirectory() as folder:
        tally = TallyByStratum(hierarchy.closure, layout.first, plan.memory // 2, Path(folder), {})
        for stratum, rows in groupby(_rows(frames), lambda row: _stratum(row["length"], cuts)):
            for direct in _batches(rows, len(hierarchy)):
                tally.add(*count_batch(direct, hierarchy.closure, tally.total.compiled))
            tally.end(stratum if stratum == NO_STRATUM else len(met))
            met += [stratum] * (stratum != NO_STRATUM)
        yield from _tables(tally.total, tally.counts(cuts[met], None), met, layout)


def added(frames: Iterable[pl.DataFrame]) -> Frames:
    """`TALLIES`, sorted, those of the same stratum, kind and part added up."""
    for place, same in groupby(_rows(frames), itemgetter("stratum", "kind", "part")):
        tail = SortedTail()
        for row in same:
            tail.add(unpacked_sums(row["sums"]))
        yield _frame([(*place, packed_sums(tail.between(0, LAST)))], TALLIES)


def _one_a_label(numbered: pl.DataFrame) -> pl.DataFrame:
    """`NUMBERED` rows as those of `audit.contiguous.ROWS`."""
    rows = numbered.explode("labels").with_columns(row=pl.lit(0, pl.Int64))
    return rows.select("instance", pl.col("labels").cast(pl.Int64).alias("label"), "row")


def _rows(frames: Iterable[pl.DataFrame]) -> Iterator[dict[str, Any]]:
    return (row for frame in frames for row in frame.iter_rows(named=True))


def _frame(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pl.DataFrame:
    empty = pl.DataFrame(pl.from_arrow(schema.empty_table()))
    return pl.DataFrame(rows, schema=empty.schema, orient="row")


def _stratum(length: int, cuts: IntArray) -> int:
    return int(np.searchsorted(cuts, length, "right")) - 1


def _batches(rows: Iterable[dict[str, Any]], n_nodes: int) -> Iterator[Sparse]:
    """Direct labels of `DIRECT` rows, about `LABELS_AT_ONCE` at a time."""
    held: list[tuple[int, IntArray]] = []
    for row in rows:
        held.append((row["length"], np.frombuffer(row["packed"], LABEL).astype(np.int64)))
        if sum(len(labels) for _, labels in held) >= LABELS_AT_ONCE:
            yield _direct(held, n_nodes)
            held = []
    if held:
        yield _direct(held, n_nodes)


def _direct(chunks: Sequence[tuple[int, IntArray]], n_nodes: int) -> Sparse:
    labels = np.concatenate([labels for _, labels in chunks])
    lengths = [np.full(len(labels) // length, length) for length, labels in chunks]
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    ones = np.ones(len(labels), np.int64)
    return csr_array((ones, labels, indptr), shape=(len(indptr) - 1, n_nodes))


def _tables(total: PairTally, strata: StratumCounts, met: Sequence[int], layout: Layout) -> Frames:
    """A tally as `TALLIES`; ``met`` names its strata."""
    margins = {"direct": total.direct_support, "support": total.support}
    whole = {kind: counts_by_place(counts) for kind, counts in margins.items()}
    yield _margins(ALL, whole | {"entailed": total.entailed})
    yield from _pairs(ALL, total.sums(), layout)
    for place, stratum in enumerate(met):
        counts = {"size": strata.size[[place]]}
        counts |= {"support": strata.support[place], "direct": strata.direct[place]}
        yield _margins(stratum, {kind: counts_by_place(of) for kind, of in counts.items()})
        yield from _pairs(stratum, strata.blocks(place, 0, LAST), layout)


def _margins(stratum: int, sums: Mapping[str, Sums]) -> pl.DataFrame:
    return _frame([(stratum, kind, 0, packed_sums(of)) for kind, of in sums.items()], TALLIES)


def _pairs(stratum: int, blocks: Iterable[Sums], layout: Layout) -> Frames:
    """Sums of pairs by part; a part that two blocks share stands twice."""
    for sums in blocks:
        ends = np.searchsorted(sums.keys, layout.bounds)
        parts = [(part, slice(*some)) for part, some in enumerate(pairwise(ends))]
        packed = [
            (stratum, "pair", part, packed_sums(sums[some]))
            for part, some in parts
            if some.start < some.stop
        ]
        yield _frame(packed, TALLIES)
