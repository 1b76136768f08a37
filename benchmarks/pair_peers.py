"""One way of counting all pairs of nodes, timed from data in memory to counts in memory.

``python benchmarks/pair_peers.py PEER FOLDER`` prints seconds, memory on top of the data, how many
pairs have a joint count above 0, and the sum of the joint counts.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Counted = tuple[int, int]
"""Pairs with a joint count above 0, and the sum of the joint counts."""


def hierarchy_audit(folder: Path) -> Callable[[], Counted]:
    """The product, with compiled loops."""
    return _ours(folder, compiled=True)


def hierarchy_audit_scipy(folder: Path) -> Callable[[], Counted]:
    """The product as it counts without numba."""
    return _ours(folder, compiled=False)


def _ours(folder: Path, *, compiled: bool) -> Callable[[], Counted]:
    from audit.engine.pairs.pair_counts import joint_counts

    carried = _carried(folder)
    joint_counts(carried[:2], compiled=compiled)
    return lambda: _sizes(joint_counts(carried, compiled=compiled))


def scipy(folder: Path) -> Callable[[], Counted]:
    """``V.T @ V`` of a sparse matrix of int32; it gives each pair twice."""
    carried = _carried(folder)

    def count() -> Counted:
        joint = carried.T @ carried
        return (joint.nnz - _used(carried)) // 2, int(joint.sum() - carried.nnz) // 2

    return count


def polars(folder: Path) -> Callable[[], Counted]:
    """A self-join of the rows on the instance, grouped by both nodes."""
    import polars as pl

    rows = pl.read_parquet(folder / "rows.parquet")

    def count() -> Counted:
        both = rows.lazy().join(rows.lazy(), on="instance", suffix="_b")
        pairs = both.filter(pl.col("node") < pl.col("node_b")).group_by("node", "node_b").len()
        counts = pairs.collect(engine="streaming")["len"]
        return len(counts), int(counts.sum())

    return count


def duckdb(folder: Path) -> Callable[[], Counted]:
    """The same self-join in DuckDB."""
    import duckdb as database

    connection = database.connect()
    connection.execute(f"create table labels as from '{folder / 'rows.parquet'}'")

    def count() -> Counted:
        connection.execute(
            "create table pairs as select x.node, y.node as node_b, count(*) as joint "
            "from labels x join labels y on x.instance = y.instance and x.node < y.node "
            "group by all"
        )
        found = connection.execute("select count(*), sum(joint)::bigint from pairs").fetchone()
        assert found is not None
        return int(found[0]), int(found[1])

    return count


def per_record(folder: Path) -> Callable[[], Counted]:
    """The published method's loop, from Algorithm 1 of *Abstraction Alignment*.

    For each record a tree is filled with its labels and summed up, and all pairs of its nodes are
    visited for the entropy of their two values.
    """
    from scipy.stats import entropy
    from treelib import Tree

    parents: dict[str, str | None] = json.loads((folder / "parents.json").read_text("utf-8"))
    records: list[list[str]] = json.loads((folder / "records.json").read_text("utf-8"))
    blank = Tree()
    for node, parent in parents.items():
        blank.create_node(node, node, parent=parent, data=0)

    def count() -> Counted:
        joint: dict[tuple[str, str], float] = {}
        for labels in records:
            tree = Tree(blank, deep=True)
            for label in labels:
                tree[label].data = 1
            values = {
                node: sum(tree[below].data for below in tree.expand_tree(node)) for node in parents
            }
            carried = sorted(node for node, value in values.items() if value)
            for place, a in enumerate(carried):
                for b in carried[place + 1 :]:
                    confused = float(entropy([values[a], values[b]])) / np.log(2)
                    joint[a, b] = joint.get((a, b), 0) + confused
        return len(joint), 0

    return count


def floor(folder: Path) -> Callable[[], Counted]:
    """One increment of one counter for each pair of each instance, and nothing else."""
    from concurrent.futures import ThreadPoolExecutor

    from scipy.sparse import csc_array, csr_array

    from audit.base.machine import cores

    carried = _carried(folder)
    columns, places = carried.indices, np.arange(carried.nnz, dtype=np.int32)
    by_node = csc_array(csr_array((places, columns, carried.indptr), shape=carried.shape))
    ends = carried.indptr[1:][by_node.indices]
    increment = _increment_loop()

    def part(nodes: range) -> int:
        return int(increment(nodes.start, nodes.stop, columns, ends, by_node.indptr, by_node.data))

    part(range(1))
    width = 64

    def count() -> Counted:
        starts = range(0, carried.shape[1], width)
        parts = [range(start, min(start + width, carried.shape[1])) for start in starts]
        with ThreadPoolExecutor(cores()) as threads:
            return 0, sum(threads.map(part, parts))

    return count


def _increment_loop() -> Any:
    from numba import njit

    @njit(nogil=True)
    def increment(first, stop, columns, ends, starts, places):  # type: ignore[no-untyped-def]
        counter = np.zeros(columns.max() + 1, np.int32)
        for node in range(first, stop):
            for stored in range(starts[node], starts[node + 1]):
                for place in range(places[stored] + 1, ends[stored]):
                    counter[columns[place]] += 1
        return counter.sum()

    return increment


PEERS: dict[str, Callable[[Path], Callable[[], Counted]]] = {
    "audit": hierarchy_audit,
    "audit, scipy alone": hierarchy_audit_scipy,
    "scipy V.T @ V": scipy,
    "Polars self-join": polars,
    "DuckDB self-join": duckdb,
    "per-record loop": per_record,
    "floor": floor,
}


def _carried(folder: Path) -> Any:
    from scipy.sparse import csr_array, load_npz

    return csr_array(load_npz(folder / "carried.npz"))


def _used(carried: Any) -> int:
    return int(np.count_nonzero(np.bincount(carried.indices)))


def _sizes(joint: Any) -> Counted:
    return joint.nnz, int(joint.data.sum(dtype=np.int64))


def _peak_mb() -> float:
    """Largest resident memory since `_forget_peak`, in megabytes."""
    status = Path("/proc/self/status").read_text("ascii")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024 / 1e6


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", "ascii")


def main() -> None:
    """Count and print."""
    peer, folder = sys.argv[1], Path(sys.argv[2])
    count = PEERS[peer](folder)
    gc.collect()
    _forget_peak()
    before, started = _peak_mb(), time.perf_counter()
    pairs, total = count()
    seconds = time.perf_counter() - started
    told = {"seconds": seconds, "memory_mb": _peak_mb() - before, "pairs": pairs, "total": total}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
