"""A synthetic release of the size of MIMIC-III: what the benchmarks are measured on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

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


def size_of(release: Release) -> dict[str, Any]:
    """Exact numbers of a release: instances, groups, rows, labels used, nodes in use."""
    hierarchy = release.hierarchy
    used = [hierarchy.index(label) for label in set(release.rows["label"]) if label in hierarchy]
    in_use = np.unique(hierarchy.closure[np.sort(used)].indices)
    return {
        "instances": len(release.instances),
        "groups": release.instances["group"].n_unique(),
        "rows": len(release.rows),
        "labels_per_instance": round(len(release.rows) / len(release.instances), 2),
        "different_labels": len(used),
        "nodes_in_use": len(in_use),
    }


def first_instances(release: Release, count: int) -> Release:
    """The release with its first instances only."""
    instances = release.instances[:count]
    rows = release.rows.join(instances, on="instance", how="semi", maintain_order="left")
    return replace(release, instances=instances, rows=rows)


def write_ancestors(release: Release, path: Path) -> None:
    """Write each table's codes, without dots, with the nodes they propagate to, as JSON.

    With it a peer needs nothing of the product.
    """
    pairs = release.rows.select("table", "label").drop_nulls().unique().sort("table", "label")
    above = {
        f"{table} {label.replace('.', '')}": release.hierarchy.ancestors(label, with_self=True)
        for table, label in pairs.iter_rows()
        if label in release.hierarchy
    }
    path.write_text(json.dumps(above), "utf-8")
