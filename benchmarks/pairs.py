"""Count all pairs of nodes beside peers, and beside the least that any exact count must do.

``python benchmarks/pairs.py [--rounds N] [--instances N]``. Everything counts the same data, from
memory to memory, in a process of its own, in turns; what is compared are ratios within one run.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from large_release import INSTANCES, first_instances, make_large_release
from measure import keep, run, stay_on_cores, surroundings
from pair_peers import PEERS
from scipy.sparse import csr_array, save_npz

from audit.engine.pairs.propagation import aggregate
from fixtures.synthetic import Release

SCRIPT = str(Path(__file__).with_name("pair_peers.py"))
PART = 2_000
"""The per-record loop gets one record in so many, and its time is multiplied by that."""
SIZES = (8, 4, 2, 1)
"""Parts of the release over which the growth of time is measured."""
OURS = "audit"
GOALS = {"scipy V.T @ V": 3.0, "floor": 0.5, "per-record loop": 10_000.0}
"""How many times faster than each to be."""


def main() -> None:
    """Make the release, count in turns, print and keep the numbers."""
    options = _options()
    cores = stay_on_cores()
    with tempfile.TemporaryDirectory() as name:
        folders = _prepare(Path(name), options.instances)
        whole = [_in_turn(folders[1]) for _ in range(options.rounds)]
        growth = {
            size: [_counted(OURS, folders[size])["seconds"] for _ in range(options.rounds)]
            for size in SIZES
        }
    peers = {peer: _summary([turn[peer] for turn in whole]) for peer in PEERS}
    exponents = _exponents({size: statistics.median(taken) for size, taken in growth.items()})
    _refuse_disagreement(whole[0])
    _show(peers, whole, exponents)
    result = {
        "surroundings": surroundings(cores),
        "instances": options.instances,
        "peers": peers,
        "growth": {f"1/{size}": taken for size, taken in growth.items()},
        "exponents": exponents,
    }
    print(keep("pairs", result))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Count all pairs beside peers.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--instances", type=int, default=INSTANCES)
    return parser.parse_args()


def _prepare(folder: Path, instances: int) -> dict[int, Path]:
    release = make_large_release(instances)
    return {
        size: _written(first_instances(release, instances // size), folder / str(size))
        for size in SIZES
    }


def _written(release: Release, folder: Path) -> Path:
    """The nodes that each instance carries, in the form that each peer reads."""
    folder.mkdir()
    hierarchy = release.hierarchy
    labels = release.rows.filter(pl.col("label").is_in(list(hierarchy.nodes)))
    number = {instance: i for i, instance in enumerate(release.instances["instance"])}
    at = [
        (number[i], hierarchy.index(label))
        for i, label in labels.select("instance", "label").rows()
    ]
    rows, columns = np.unique(np.array(at), axis=0).T
    shape = (len(number), len(hierarchy))
    direct = csr_array((np.ones(len(rows), np.int64), (rows, columns)), shape=shape)
    aggregated = aggregate(direct, hierarchy.closure)
    used = np.unique(aggregated.indices)
    carried = csr_array(aggregated[:, used]).astype(np.int32)
    carried.data[:] = 1
    save_npz(folder / "carried.npz", carried)
    instance = np.repeat(np.arange(carried.shape[0], dtype=np.uint32), np.diff(carried.indptr))
    pl.DataFrame({"instance": instance, "node": carried.indices.astype(np.uint32)}).write_parquet(
        folder / "rows.parquet"
    )
    _write_records(hierarchy, direct, folder)
    return folder


def _write_records(hierarchy: Any, direct: Any, folder: Path) -> None:
    nodes, edges = hierarchy.nodes, hierarchy.edge_frame()
    parents: dict[str, str | None] = dict(edges.select("child", "parent").iter_rows())
    order = [nodes[i] for i in np.argsort(hierarchy.depth, kind="stable")]
    few = range(0, direct.shape[0], PART)
    records = [
        [nodes[i] for i in direct.indices[direct.indptr[r] : direct.indptr[r + 1]]] for r in few
    ]
    told = {node: parents.get(node) for node in order}
    (folder / "parents.json").write_text(json.dumps(told), "utf-8")
    (folder / "records.json").write_text(json.dumps(records), "utf-8")


def _in_turn(folder: Path) -> dict[str, dict[str, float]]:
    return {peer: _counted(peer, folder) for peer in PEERS}


def _counted(peer: str, folder: Path) -> dict[str, float]:
    told: dict[str, float] = json.loads(run([sys.executable, SCRIPT, peer, str(folder)]).output)
    if peer == "per-record loop":
        told["seconds"] *= PART
    return told


def _refuse_disagreement(turn: dict[str, dict[str, float]]) -> None:
    counts = {
        (told["pairs"], told["total"])
        for peer, told in turn.items()
        if peer not in ("per-record loop", "floor")
    }
    if len(counts) != 1 or turn["floor"]["total"] != turn[OURS]["total"]:
        sys.exit(f"the peers do not count the same: {turn}")


def _summary(taken: list[dict[str, float]]) -> dict[str, float]:
    seconds = [one["seconds"] for one in taken]
    return {
        "median": statistics.median(seconds),
        "least": min(seconds),
        "most": max(seconds),
        "memory_mb": statistics.median(one["memory_mb"] for one in taken),
    }


def _exponents(medians: dict[int, float]) -> list[float]:
    """Growth of time from each size to the next: log of the times over log of the sizes."""
    ordered = [(1 / size, medians[size]) for size in SIZES]
    return [
        math.log(later / earlier) / math.log(large / small)
        for (small, earlier), (large, later) in pairwise(ordered)
    ]


def _show(
    peers: dict[str, dict[str, float]],
    whole: list[dict[str, dict[str, float]]],
    exponents: list[float],
) -> None:
    print(f"{'':20}{'median s':>12}{'memory MB':>11}{'audit is':>12}{'least':>9}{'most':>9}  goal")
    for peer, row in peers.items():
        ratios = [turn[peer]["seconds"] / turn[OURS]["seconds"] for turn in whole]
        told = "".join(f"{ratio:8.2f}x" for ratio in (min(ratios), max(ratios)))
        goal = f"  {GOALS[peer]:g}" if peer in GOALS else ""
        middle = statistics.median(ratios)
        print(f"{peer:20}{row['median']:12.3f}{row['memory_mb']:11.0f}{middle:11.2f}x{told}{goal}")
    print("growth exponents:", ", ".join(f"{exponent:.2f}" for exponent in exponents))


if __name__ == "__main__":
    main()
