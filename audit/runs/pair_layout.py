"""What makes the pairs of a node two ranges of rows: a twin of the pair table, by second node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from audit.base.disk import PassingFolder
from audit.base.progress import Progress, silent
from audit.hierarchies.relations import RELATIONS

KEPT = ("relation", "joint", "joint_entailed", "observed", "expected_length")
"""Columns of a pair that its twin keeps; the others that partners show follow from them."""
_ENDS = {"b": pl.UInt32, "a": pl.UInt32}
ROWS_AT_ONCE = 1_000_000
"""Number of pairs that are sorted at a time."""
ROWS_OF_GROUP = 32_768
"""Number of rows of the twin that are read at least."""
ORDERING = "ordering pairs by their second node"


def twin_of(table: Path) -> Path:
    """Path of the twin of a pair table."""
    return table.with_name(f"{table.stem}_by_b.parquet")


def ends_of(table: Path) -> Path:
    """Path of the table that says how many rows a node has in a pair table and its twin."""
    return table.with_name(f"{table.stem.removesuffix('s')}_ends.parquet")


def write_pair_layout(table: Path, nodes: pl.Series, progress: Progress = silent) -> None:
    """Write what makes the pairs of a node a range of a pair table, and one of its twin.

    The twin has ``b`` and ``a`` (numbers in node order) and `KEPT`, ordered by ``b``, then ``a``.
    The table of ends has a row a node in node order: ``node``, ``support`` (null if it is in no
    pair), and ``as_a`` and ``as_b``, how many rows name it first or second. Memory holds
    `ROWS_AT_ONCE` pairs, and those of one node beyond.

    Args:
        table: Parquet file of pairs, ordered by ``a``, then ``b``, in node order.
        nodes: Ids in node order.
        progress: Called with the number of pairs that are ordered.
    """
    ends = _ends(table, nodes)
    ends.write_parquet(ends_of(table))
    parts = (ends["as_b"].cum_sum() - ends["as_b"]).to_numpy() // ROWS_AT_ONCE
    folder, total, done = PassingFolder(), int(ends["as_b"].sum()), 0
    progress(ORDERING, 0, total, "pairs")
    files = _parted(table, nodes, parts, folder.path)
    with _writer_of(twin_of(table), _schema(table)) as writer:
        for file in files:
            for lines in _by_second_node(file):
                writer.write_table(lines.to_arrow().cast(writer.schema))
                done += len(lines)
            file.unlink()
            progress(ORDERING, done, total, "pairs")


def _schema(table: Path) -> pa.Schema:
    kept = pl.read_parquet_schema(table)
    return pl.DataFrame(schema=_ENDS | {name: kept[name] for name in KEPT}).to_arrow().schema


def _writer_of(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    """A file of rows; few of its fractions are alike, and none of them is looked for."""
    alike = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return pq.ParquetWriter(path, schema, compression="zstd", use_dictionary=alike)


def _by_second_node(file: Path) -> Iterator[pl.DataFrame]:
    """The pairs of a file in the order of their second nodes, a row group at a time."""
    lines = pl.read_ipc_stream(file).rechunk()
    second = lines["b"].to_numpy()
    second = second - second.min()
    # stable sorts of two bytes are the fastest by far
    order = np.argsort(second.astype(np.min_scalar_type(second.max())), kind="stable")
    for start in range(0, len(order), ROWS_OF_GROUP):
        group = lines[order[start : start + ROWS_OF_GROUP]]
        yield group.with_columns(pl.col("relation").cast(pl.String))


def _ends(table: Path, nodes: pl.Series) -> pl.DataFrame:
    """Number of rows of each node at either end, and its support."""
    ends = pl.DataFrame({"node": nodes})
    for end in ("a", "b"):
        support = pl.first(f"support_{end}")
        counted = (
            pl.scan_parquet(table).group_by(node=end).agg(pl.len().alias(f"as_{end}"), support)
        )
        rows = counted.collect(engine="streaming")
        ends = ends.join(rows, on="node", how="left", maintain_order="left")
    return ends.select(
        "node",
        pl.coalesce("support_a", "support_b").alias("support"),
        pl.col("as_a", "as_b").fill_null(0).cast(pl.Int64),
    )


def _parted(table: Path, nodes: pl.Series, parts: np.ndarray, folder: Path) -> list[Path]:
    """Files of the pairs of a range of second nodes each, still ordered by first node."""
    files = [folder / f"{part}.arrow" for part in range(int(parts.max(initial=0)) + 1)]
    packed = pa.ipc.IpcWriteOptions(compression="lz4")
    with ExitStack() as opened:
        writers: dict[int, Any] = {}
        for lines in _blocks(table, nodes):
            part_of = parts[lines["b"].to_numpy()]
            order = np.argsort(part_of, kind="stable")
            bounds = np.searchsorted(part_of[order], np.arange(len(files) + 1))
            sorted_lines = lines[order].to_arrow()
            for part in np.flatnonzero(np.diff(bounds)).tolist():
                if part not in writers:
                    stream = pa.ipc.new_stream(files[part], sorted_lines.schema, options=packed)
                    writers[part] = opened.enter_context(stream)
                start, stop = bounds[part : part + 2]
                writers[part].write_table(sorted_lines.slice(start, stop - start))
    return [file for file in files if file.exists()]


def _blocks(table: Path, nodes: pl.Series) -> Iterator[pl.DataFrame]:
    """The pairs in their order, with numbers for nodes."""
    ends = pl.col(*_ENDS).cast(pl.Enum(nodes)).to_physical().cast(pl.UInt32)
    relation = pl.col("relation").cast(pl.Enum(RELATIONS))
    pairs = pl.scan_parquet(table).select(ends, *KEPT).with_columns(relation)
    rows = max(ROWS_AT_ONCE // 4, 1)
    for start in range(0, pq.read_metadata(table).num_rows, rows):
        yield pairs.slice(start, rows).collect().rechunk()
