"""The ICD-9-CM classification, version 32, that comes with the package."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.hierarchies.formats.format import BuiltInHierarchy
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import ICD9, TABLES

DATA = Path(__file__).parent / "data" / "icd9cm.csv.gz"
"""``node, parent, title, assignable``, compiled by ``scripts/compile_icd9cm.py``."""


def _load() -> Hierarchy:
    nodes = pl.read_csv(
        DATA.read_bytes(), infer_schema=False, schema_overrides={"assignable": pl.Boolean}
    )
    edges = nodes.select(pl.col("node").alias("child"), "parent").drop_nulls()
    return Hierarchy.build(
        edges,
        nodes.drop("parent"),
        name="icd9cm",
        labelled_ancestors="fault",
        coding=ICD9,
        complete_tables=frozenset(TABLES),
    )


BUILT_IN = BuiltInHierarchy(
    name="icd9cm",
    title="ICD-9-CM version 32: all diagnoses and procedures",
    load=_load,
)
