"""Writes what is measured on: ``python benchmarks/releases.py FOLDER``."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from audit.hierarchies.reading import load_hierarchy
from fixtures.synthetic import CrossBranchHabit, ResidualOveruse, icd9cm_usage, make_release

ADMISSIONS = 52_722
"""As MIMIC-III has."""
SIZES = (5_000, 50_000, 500_000)
ROWS = 10_000_000
SEED = 2026
FAULTS = (ResidualOveruse(("285", "428", "584"), p=0.6), CrossBranchHabit("414", "V72.81", 0.35))


def main() -> None:
    """Write a release of the size of MIMIC-III, others, 10 million rows, and a few of ICD-10-CM."""
    folder = Path(sys.argv[1])
    hierarchy = load_hierarchy("icd9cm")
    made = partial(make_release, hierarchy, seed=SEED)
    usage = icd9cm_usage(hierarchy, seed=SEED, diagnoses=2_300)
    for size in (ADMISSIONS, *SIZES):
        drawn = made(instances=size, labels_per_instance=15.75, usage=usage, faults=FAULTS)
        drawn.write_long(folder / f"{size}.csv")
    rows = pl.scan_csv(folder / f"{SIZES[-1]}.csv", infer_schema=False)
    again = rows.with_columns(pl.col("instance", "group") + "-2")
    pl.concat([rows, again]).head(ROWS).sink_csv(folder / f"{ROWS}.csv")
    icd10 = load_hierarchy("icd10cm")
    codes = np.array(icd10.nodes)[icd10.leaf]
    drawn = np.random.default_rng(SEED).choice(codes, 300, replace=False)
    pl.DataFrame({"instance": np.arange(300) // 3, "code": drawn}).write_csv(folder / "few.csv")


if __name__ == "__main__":
    main()
