"""The same counts without the product: scipy alone, and a loop over sets in plain Python.

``python benchmarks/peers.py scipy|sets RELEASE ANCESTORS`` prints how many pairs have a joint count
above 0, and the sum of the joint counts.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

FILES = {"DIAGNOSES_ICD.csv": "diagnoses", "PROCEDURES_ICD.csv": "procedures"}


def read_labels(release: Path, ancestors: Path) -> list[set[str]]:
    """Propagated nodes of each instance; codes without ancestors are passed over."""
    above = json.loads(ancestors.read_text("utf-8"))
    found: dict[str, set[str]] = {}
    for name, table in FILES.items():
        with (release / name).open(encoding="utf-8", newline="") as stream:
            for row in csv.DictReader(stream):
                nodes = found.setdefault(row["HADM_ID"], set())
                nodes.update(above.get(f"{table} {row['ICD9_CODE']}", ()))
    return list(found.values())


def count_with_scipy(records: list[set[str]]) -> tuple[int, int]:
    """``V.T @ V`` over the records as a sparse matrix."""
    import numpy as np
    from scipy.sparse import csr_array, triu

    index = {node: i for i, node in enumerate(sorted(set().union(*records)))}
    columns = [index[node] for nodes in records for node in nodes]
    starts = np.cumsum([0, *map(len, records)])
    values = csr_array((np.ones(len(columns), np.int64), columns, starts))
    joint = triu(csr_array(values.T @ values), 1)
    return joint.nnz, int(joint.sum())


def count_with_sets(records: list[set[str]]) -> tuple[int, int]:
    """A counter over all pairs of every record."""
    joint: Counter[tuple[str, str]] = Counter()
    for nodes in records:
        joint.update(combinations(sorted(nodes), 2))
    return len(joint), joint.total()


PEERS: dict[str, Callable[[list[set[str]]], tuple[int, int]]] = {
    "scipy": count_with_scipy,
    "sets": count_with_sets,
}


def main() -> None:
    """Count and print."""
    peer, release, ancestors = sys.argv[1:]
    pairs, total = PEERS[peer](read_labels(Path(release), Path(ancestors)))
    print(json.dumps({"pairs": pairs, "joint_total": total}))


if __name__ == "__main__":
    main()
