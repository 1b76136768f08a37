"""What other tools take for a part of an audit: ``python benchmarks/peers.py NAME LABELS.csv``.

Each reads the same table of labels. `audit` and scipy count the pairs of all nodes at and above
labels; DuckDB joins the same rows with themselves; pointblank holds each code against the list.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.engine.pairs.pair_counts import count_pairs
from audit.hierarchies.reading import load_hierarchy


def _carried(path: Path) -> csr_array:
    """Instances by nodes, 1 where an instance has a label at or below the node."""
    hierarchy = load_hierarchy("icd9cm")
    read = pl.read_csv(path, columns=["instance", "label"], infer_schema=False).unique()
    labels = read.filter(pl.col("label").is_in(hierarchy.nodes))
    rows = labels["instance"].rank("dense").to_numpy() - 1
    columns = [hierarchy.index(label) for label in labels["label"]]
    shape = int(rows.max()) + 1, len(hierarchy)
    own = csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape)
    carried = own @ hierarchy.closure.astype(np.float32)
    carried.data[:] = 1
    return csr_array(carried)


def _scipy(path: Path) -> object:
    carried = _carried(path)
    return (carried.T @ carried).nnz


def _duckdb(path: Path) -> object:
    import duckdb

    rows, columns = _carried(path).nonzero()
    carried = pl.DataFrame({"instance": rows, "node": columns})  # noqa: F841
    query = (
        "select count(*) from (select a.node, b.node, count(*) from carried a "
        "join carried b using (instance) where a.node < b.node group by 1, 2)"
    )
    return duckdb.sql(query).fetchall()


def _pointblank(path: Path) -> object:
    import pointblank

    held = pointblank.Validate(pl.read_csv(path, infer_schema=False))
    return held.col_vals_in_set("label", set=[*load_hierarchy("icd9cm").nodes]).interrogate()


PEERS: Mapping[str, tuple[str, Callable[[Path], object]]] = {
    "scipy": ("joint counts of all pairs, each twice", _scipy),
    "DuckDB": ("joint counts of all pairs", _duckdb),
    "pointblank": ("codes held against the list, no pairs", _pointblank),
    "audit": (
        "joint counts of all pairs, their order and entropies",
        lambda path: count_pairs(_carried(path).astype(bool)),
    ),
}
"""What each does, and how."""

if __name__ == "__main__":
    PEERS[sys.argv[1]][1](Path(sys.argv[2]))
