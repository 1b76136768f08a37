"""Time concept confusion of scores, beside a loop over pairs that calls scipy, in one run.

``python benchmarks/score_confusion.py [--rounds N]``. Every round runs in a process of its own,
which makes scores like those of an image classifier, aggregates them, and counts all pairs with
each back end that is here, one after another, after counting a few instances to load it. The peer
computes some of the same pairs on the same scores; its time is scaled to all of them.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from measure import Taken, keep, run, stay_on_cores, surroundings
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import entropy

from audit.engine.pairs.pair_counts import PairCounts
from audit.engine.pairs.propagation import aggregate
from audit.engine.scores.score_pairs import count_score_pairs

THRESHOLD = 1e-5
PEER_PAIRS = 40
"""Pairs that the loop computes."""
INSTANCES_PER_BLOCK = 2_000
NAMES = ("dense", "sparse")


@dataclass(frozen=True)
class Case:
    """Scores to make, and what counting their pairs may take.

    Args:
        instances: Instances.
        tree: Nodes of each depth, the root first; the last are the leaves, which have the scores.
        spread: Standard deviation of the logits.
        sure: Mean and standard deviation of what the right leaf's logit has more.
        wall_limit: Seconds, of the fastest back end.
        peak_limit_mb: Megabytes of the whole process, the making of the scores included.
    """

    instances: int
    tree: tuple[int, ...]
    spread: float
    sure: tuple[float, float]
    wall_limit: float
    peak_limit_mb: float

    @property
    def nodes(self) -> int:
        """Nodes of the tree."""
        return sum(self.tree)


CASES = {
    "dense": Case(10_000, (1, 20, 100), 1.5, (5.0, 2.0), 1.0, 2_000.0),
    "sparse": Case(50_000, (1, 9, 80, 280, 1_000), 2.5, (14.0, 3.0), 30.0, 2_500.0),
}


def main() -> None:
    """Run both cases in turns, print and keep the numbers."""
    parser = argparse.ArgumentParser(description="Time concept confusion of scores.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", choices=NAMES, help="make and count one case, print JSON")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(_measured(CASES[options.case])))
        return
    cores = stay_on_cores()
    command = [sys.executable, __file__, "--case"]
    taken: dict[str, list[Taken]] = {name: [] for name in CASES}
    for _ in range(options.rounds):
        for name in CASES:
            taken[name].append(run([*command, name]))
    found = {name: _summary(CASES[name], rounds) for name, rounds in taken.items()}
    for name, row in found.items():
        _show(name, row)
    print(keep("score_confusion", {"surroundings": surroundings(cores), "cases": found}))


def _measured(case: Case) -> dict[str, Any]:
    """One round of a case: seconds of each part, and what was counted."""
    scores, closure = _scores(case), _closure(case)
    started = time.perf_counter()
    aggregated = aggregate(scores, closure)
    propagated = time.perf_counter()
    seconds: dict[str, float] = {}
    every: list[PairCounts] = []
    for name, options in _back_ends().items():
        count_score_pairs(csr_array(aggregated[:20]), THRESHOLD, **options)
        begun = time.perf_counter()
        every.append(count_score_pairs(aggregated, THRESHOLD, **options))
        seconds[name] = time.perf_counter() - begun
        _refuse_other(name, every[-1], every[0], case.instances)
    counts = every[0]
    reached = _reached(aggregated)
    return {
        "propagate": propagated - started,
        "count": seconds,
        "pairs": len(counts.a),
        "joint_total": int(counts.joint.sum()),
        "nodes_per_instance": {
            "median": float(np.median(reached)),
            "mean": float(reached.mean()),
            "largest": int(reached.max()),
        },
        "peer": _peer(aggregated, counts),
    }


def _back_ends() -> dict[str, dict[str, Any]]:
    """Every way to count that is here, NumPy first."""
    found: dict[str, dict[str, Any]] = {"numpy": {"compiled": False}}
    if find_spec("numba"):
        found["numba"] = {"compiled": True}
    if find_spec("torch"):
        import torch

        found["torch cpu"] = {"device": "cpu"}
        if torch.cuda.is_available():
            found["torch cuda"] = {"device": "cuda"}
    return found


def _refuse_other(name: str, found: PairCounts, counts: PairCounts, n: int) -> None:
    """End where a back end finds other counts than NumPy, or a confusion that is not as near."""
    same = all(
        np.array_equal(getattr(found, column), getattr(counts, column))
        for column in ("a", "b", "joint")
    )
    if not same or abs(found.confusion_sum - counts.confusion_sum).max(initial=0) > 1e-12 * n:
        sys.exit(f"{name} finds other pairs, counts or confusion than numpy")


def _reached(aggregated: csr_array) -> NDArray[np.int64]:
    """Nodes at the threshold of each instance."""
    bounds = zip(aggregated.indptr, aggregated.indptr[1:], strict=False)
    return np.array([np.count_nonzero(aggregated.data[i:j] >= THRESHOLD) for i, j in bounds])


def _scores(case: Case) -> csr_array:
    """Softmax over the leaves, every score kept, in blocks so that memory is not the maker's."""
    first, leaves = case.nodes - case.tree[-1], case.tree[-1]
    draw = np.random.default_rng(7)
    values = np.empty((case.instances, leaves))
    for start in range(0, case.instances, INSTANCES_PER_BLOCK):
        block = values[start : start + INSTANCES_PER_BLOCK]
        n = len(block)
        logits = draw.normal(0, case.spread, (n, leaves))
        logits[np.arange(n), draw.integers(0, leaves, n)] += draw.normal(*case.sure, n)
        np.exp(logits - logits.max(axis=1, keepdims=True), out=block)
        block /= block.sum(axis=1, keepdims=True)
    starts = np.arange(case.instances + 1, dtype=np.int32) * np.int32(leaves)
    columns = np.tile(np.arange(first, case.nodes, dtype=np.int32), case.instances)
    return csr_array((values.ravel(), columns, starts), shape=(case.instances, case.nodes))


def _closure(case: Case) -> csr_array:
    """A tree whose nodes of one depth share their children evenly."""
    firsts = np.cumsum([0, *case.tree])
    dense = np.eye(case.nodes, dtype=np.int64)
    for depth in range(1, len(case.tree)):
        for i in range(case.tree[depth]):
            parent = firsts[depth - 1] + i * case.tree[depth - 1] // case.tree[depth]
            dense[firsts[depth] + i] |= dense[parent]
    return csr_array(dense)


def _peer(aggregated: csr_array, counts: PairCounts) -> dict[str, float]:
    """A loop over some pairs that calls `scipy.stats.entropy`; ends where the two disagree."""
    chosen = np.linspace(0, len(counts.a) - 1, PEER_PAIRS).astype(int)
    nodes = np.unique(np.concatenate([counts.a[chosen], counts.b[chosen]]))
    by_node = csr_array(aggregated[:, nodes]).tocsc()
    n, seconds, furthest = aggregated.shape[0], 0.0, 0.0
    for pair in chosen:
        started = time.perf_counter()
        total = _entropy_of(by_node, np.searchsorted(nodes, (counts.a[pair], counts.b[pair])))
        seconds += time.perf_counter() - started
        furthest = max(furthest, abs(total - counts.confusion_sum[pair]) / n)
    if furthest > 1e-12:
        sys.exit(f"the loop finds another confusion: {furthest:g} apart")
    return {
        "seconds": seconds,
        "pairs": PEER_PAIRS,
        "scaled_to_all": seconds / PEER_PAIRS * len(counts.a),
        "furthest_apart": furthest,
    }


def _entropy_of(by_node: Any, pair: NDArray[np.int64]) -> float:
    values: NDArray[np.float64] = by_node[:, pair].toarray()
    both = values[(values >= THRESHOLD).all(axis=1)]
    return float(entropy(both, base=2, axis=1).sum())


def _summary(case: Case, rounds: list[Taken]) -> dict[str, Any]:
    outputs = [json.loads(taken.output) for taken in rounds]
    first = outputs[0]
    rows = {name: [output["count"][name] for output in outputs] for name in first["count"]}
    count = min(statistics.median(seconds) for seconds in rows.values())
    peer = statistics.median(output["peer"]["scaled_to_all"] for output in outputs)
    peak = max(taken.peak for taken in rounds) / 1e6
    return {
        "instances": case.instances,
        "nodes": case.nodes,
        "threshold": THRESHOLD,
        **{key: first[key] for key in ("pairs", "joint_total", "nodes_per_instance")},
        "propagate_median": statistics.median(output["propagate"] for output in outputs),
        "back_ends": {name: _row(seconds, rows["numpy"]) for name, seconds in rows.items()},
        "peak_mb": peak,
        "peer": {**first["peer"], "scaled_to_all": peer, "times_audit": peer / count},
        "rounds": len(rounds),
        "limits": {"wall": case.wall_limit, "peak_mb": case.peak_limit_mb},
        "kept": count < case.wall_limit and peak < case.peak_limit_mb,
    }


def _row(seconds: list[float], numpy: list[float]) -> dict[str, float]:
    """Seconds of a back end, and how many times as fast as NumPy it was in the same round."""
    times = [slow / fast for slow, fast in zip(numpy, seconds, strict=True)]
    return {
        "median": statistics.median(seconds),
        "least": min(seconds),
        "times_numpy": statistics.median(times),
        "times_numpy_least": min(times),
        "times_numpy_most": max(times),
    }


def _show(name: str, row: dict[str, Any]) -> None:
    reached = row["nodes_per_instance"]
    print(
        f"{name}: {row['instances']:,} instances, {row['nodes']:,} nodes, "
        f"{reached['median']:,.0f} (mean {reached['mean']:,.1f}, at most {reached['largest']:,}) "
        f"nodes an instance at {THRESHOLD:g}; {row['pairs']:,} pairs\n"
        f"  propagation {row['propagate_median']:.2f} s, peak {row['peak_mb']:,.0f} MB with the "
        f"making of the scores"
    )
    for back_end, taken in row["back_ends"].items():
        print(
            f"  {back_end}: {taken['median']:.2f} s (least {taken['least']:.2f}), "
            f"{taken['times_numpy']:.1f} times numpy ({taken['times_numpy_least']:.1f} to "
            f"{taken['times_numpy_most']:.1f})"
        )
    print(
        f"  limits of {row['limits']['wall']:g} s and {row['limits']['peak_mb']:,.0f} MB: "
        f"{'kept' if row['kept'] else 'NOT kept'}\n"
        f"  scipy pair by pair, from {row['peer']['pairs']} pairs: "
        f"{row['peer']['scaled_to_all']:,.0f} s, {row['peer']['times_audit']:,.0f} times as long"
    )


if __name__ == "__main__":
    main()
