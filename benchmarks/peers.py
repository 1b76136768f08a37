"""Other tools on the files of an audit, each in a process of its own.

``python benchmarks/peers.py polars|duckdb|profile FOLDER`` reads the release in the folder. The
first two count the joint instances of all pairs of nodes, from the codes of the tables and the
nodes above each code; the third profiles the columns of the diagnoses as pointblank does.
``python benchmarks/peers.py pairs FOLDER`` times counting alone, in memory: how long
`count_pairs` takes of the processor, beside scipy's product of the same matrix.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TABLES = {"DIAGNOSES_ICD.csv": "diagnoses", "PROCEDURES_ICD.csv": "procedures"}
TURNS = 3


def count_with_polars(folder: Path) -> dict[str, Any]:
    """Tables joined in Polars, and scipy's ``V.T @ V``."""
    from scipy.sparse import triu

    carried = _carried(folder)
    carried.data[:] = 1
    joint = triu(carried.T @ carried, 1)
    return {"pairs": joint.nnz, "joint": int(joint.sum())}


def _carried(folder: Path) -> Any:
    """How many codes of each instance are at or below each node, int64 canonical CSR."""
    import polars as pl
    from scipy.sparse import csr_array

    above = pl.read_parquet(folder / "ancestors.parquet")
    rows = pl.concat(
        pl.read_csv(folder / "release" / name, infer_schema=False).select(
            "HADM_ID", code=f"{table} " + pl.col("ICD9_CODE")
        )
        for name, table in TABLES.items()
    )
    met = rows.unique().join(above, on="code").group_by("HADM_ID", "node").len()
    ends = met.select(pl.col("HADM_ID", "node").rank("dense").cast(pl.Int64) - 1)
    values = csr_array((met["len"].cast(pl.Int64).to_numpy(), ends.to_numpy().T))
    values.sum_duplicates()
    return values


def count_with_duckdb(folder: Path) -> dict[str, Any]:
    """The same in one statement: a self-join on the instance."""
    import duckdb

    tables = " union all ".join(
        f"select HADM_ID, '{table} ' || ICD9_CODE as code "
        f"from read_csv('{folder / 'release' / name}', all_varchar = true)"
        for name, table in TABLES.items()
    )
    found = duckdb.execute(
        f"with carried as (select distinct HADM_ID, node from ({tables}) "
        f"join '{folder / 'ancestors.parquet'}' using (code)), "
        "pairs as (select count(*) as joint from carried x join carried y "
        "on x.HADM_ID = y.HADM_ID and x.node < y.node group by x.node, y.node) "
        "select count(*), sum(joint)::bigint from pairs"
    ).fetchone()
    assert found is not None
    return {"pairs": int(found[0]), "joint": int(found[1])}


def profile(folder: Path) -> dict[str, Any]:
    """pointblank's scan of all columns, which knows no hierarchy."""
    import pointblank
    import polars as pl

    rows = pl.read_csv(folder / "release" / next(iter(TABLES)), infer_schema=False)
    pointblank.DataScan(data=rows).to_json()
    return {"rows": len(rows)}


def time_pairs(folder: Path) -> dict[str, Any]:
    """Processor seconds of ours and of scipy's product, in turns; the least of each."""
    from audit.engine.pairs.pair_counts import count_pairs

    values = _carried(folder)
    carried = values.astype("int32")
    carried.data[:] = 1
    ways = {"ours": lambda: count_pairs(values), "scipy": lambda: carried.T @ carried}
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for name in TURNS * [*ways]:
        started = time.process_time()
        ways[name]()
        taken[name].append(time.process_time() - started)
    return {name: min(seconds) for name, seconds in taken.items()}


PEERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "polars": count_with_polars,
    "duckdb": count_with_duckdb,
    "profile": profile,
    "pairs": time_pairs,
}

if __name__ == "__main__":
    print(json.dumps(PEERS[sys.argv[1]](Path(sys.argv[2]))))
