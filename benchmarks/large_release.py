"""What is measured on: synthetic releases of the size of MIMIC-III, smaller and larger ones."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl

from audit.hierarchies.reading import load_hierarchy
from fixtures.synthetic import (
    CrossBranchHabit,
    MissingCodes,
    Release,
    ResidualOveruse,
    UnknownCodes,
    icd9cm_usage,
    make_release,
    with_procedures,
)
from fixtures.synthetic.icd9cm import with_procedure_codes

INSTANCES = 52_722
LABELS_PER_INSTANCE = 15.75
DIAGNOSES = 2_300
PROCEDURES = 500
SEED = 2026


def make_large_release(instances: int = INSTANCES) -> Release:
    """Draw it, with a few planted faults; the tail of procedures has codes without titles."""
    hierarchy = with_procedures(load_hierarchy("icd9cm"))
    digits = np.random.default_rng(SEED).permutation(10_000)[: 2 * PROCEDURES]
    digits = digits[digits % 10 < 8]
    codes = [f"{code // 100:02d}.{code % 100:02d}" for code in digits.tolist()]
    hierarchy = with_procedure_codes(
        hierarchy, {code: "" for code in codes if code not in hierarchy}
    )
    usage = icd9cm_usage(hierarchy, seed=SEED, diagnoses=DIAGNOSES, procedures=PROCEDURES)
    return make_release(
        hierarchy,
        instances=instances,
        seed=SEED,
        labels_per_instance=LABELS_PER_INSTANCE,
        usage=usage,
        faults=(
            ResidualOveruse(("285", "428", "584"), p=0.6),
            CrossBranchHabit(beside="414", node="V72.81", p=0.35),
            UnknownCodes(("019.0", "V93.1"), count=100),
            MissingCodes(count=100),
        ),
    )


def write_few(path: Path) -> None:
    """300 rows of assignable codes of ICD-10-CM, three an instance."""
    hierarchy = load_hierarchy("icd10cm")
    leaves = np.array(hierarchy.nodes)[hierarchy.leaf]
    codes = np.random.default_rng(SEED).choice(leaves, 300, replace=False)
    pl.DataFrame({"instance": np.arange(300) // 3, "code": codes}).write_csv(path)


def write_size(release: Release, path: Path) -> None:
    """Instances and rows of a release, and nodes in use."""
    hierarchy = release.hierarchy
    used = [hierarchy.index(label) for label in set(release.rows["label"]) if label in hierarchy]
    in_use = np.unique(hierarchy.closure[np.sort(used)].indices)
    sizes = {"instances": len(release.instances), "rows": len(release.rows), "nodes": len(in_use)}
    path.write_text(json.dumps(sizes), "utf-8")


def main() -> None:
    """Write into a folder all that is measured on, and a table of each size."""
    folder = Path(sys.argv[1])
    release = make_large_release()
    release.write_mimic3(folder / "release")
    write_few(folder / "few.csv")
    (folder / "policy.toml").write_text('[severities]\nunexpected_pair = "note"\n', "utf-8")
    for size in map(int, sys.argv[2:]):
        make_large_release(size).write_long(folder / f"{size}.csv")
    write_size(release, folder / "size.json")


if __name__ == "__main__":
    main()
