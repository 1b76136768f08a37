"""Compile ``audit/hierarchies/icd/data/catch_alls.parquet``: catch-alls of built-in hierarchies.

    python scripts/compile_catch_alls.py

They are found by comparing titles, which takes longer than all else that is done with 300 rows.
"""

from __future__ import annotations

import polars as pl

from audit.counting.residual_nodes import COMPILED, by_title, catch_all_words
from audit.hierarchies.reading import BUILT_IN
from audit.policy.policy import Policy


def compiled() -> pl.DataFrame:
    """The table, as it is computed from the titles."""
    rows = [
        (hierarchy.sha256, index, found.kind, found.rule)
        for hierarchy in (built_in.load() for built_in in BUILT_IN)
        for index, found in by_title(hierarchy, catch_all_words(hierarchy, Policy())).items()
    ]
    kinds = {"sha256": pl.String, "index": pl.Int32, "kind": pl.String, "rule": pl.String}
    return pl.DataFrame(rows, kinds, orient="row")


if __name__ == "__main__":
    compiled().write_parquet(COMPILED, compression_level=22)
