"""The classifications that come with the package, and all codes of their sets with headings."""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.base import dag
from audit.hierarchies.coding import Companions, Exclusion, Exclusions
from audit.hierarchies.formats.format import BuiltInHierarchy
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import ICD9, TABLES, once_valid, table_of
from audit.hierarchies.icd.icd10 import DIAGNOSES, INTEGRITY, WHO, ICD10Coding
from audit.policy.rules import Companion

ICD9CM_NODES = Path(__file__).parent / "data" / "icd9cm.csv.gz"
"""``node, parent, title, assignable``, compiled by ``scripts/compile_icd9cm.py``."""


def _load_icd9cm() -> Hierarchy:
    nodes = pl.read_csv(
        ICD9CM_NODES.read_bytes(), infer_schema=False, schema_overrides={"assignable": pl.Boolean}
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


ICD9CM = BuiltInHierarchy(
    name="icd9cm", title="ICD-9-CM version 32: all diagnoses and procedures", load=_load_icd9cm
)


_DATA = Path(__file__).parent / "data"
ICD10CM_NODES = _DATA / "icd10cm.parquet"
"""``node, parent, title, assignable`` in code-point order, compiled by
``scripts/compile_icd10cm.py``; ``parent`` is the number of a row."""
ICD10CM_NOTES = _DATA / "icd10cm_notes.parquet"
"""``kind, node, codes, text, wide`` of each note on other codes, compiled by the same script."""


def icd10cm_rules(release: str) -> dict[str, Any]:
    """Fields of the `Hierarchy` of a release of ICD-10-CM, of whatever nodes: coding and rules."""
    editions, years = {DIAGNOSES: f"release {release}"}, once_valid(DIAGNOSES)
    integrity = replace(INTEGRITY, editions=editions, years=years)
    return {
        "labelled_ancestors": "fault",
        "coding": ICD10Coding(integrity=integrity),
        "complete_tables": frozenset({DIAGNOSES}),
    }


def _load_icd10cm() -> Hierarchy:
    nodes = pl.read_parquet(ICD10CM_NODES)
    linked = nodes.with_row_index("child").drop_nulls("parent")
    child, parent = linked.select("child", "parent").to_numpy().T.astype(np.int64)
    titles = nodes["title"].to_list()
    release = titles[nodes["node"].to_list().index("ICD-10-CM")].partition("release ")[2]
    return Hierarchy(
        name=ICD10CM.name,
        nodes=tuple(nodes["node"]),
        titles=tuple(titles),
        edges=dag.edge_matrix(child, parent, len(nodes)),
        assignable=nodes["assignable"].to_numpy(),
        **_notes(release),
        **icd10cm_rules(release),
    )


def _notes(release: str) -> dict[str, Any]:
    """Fields of the `Hierarchy` that hold its notes: ``exclusions`` and ``companions``."""
    kinds = pl.read_parquet(ICD10CM_NOTES).partition_by("kind", as_dict=True, include_key=False)
    excluding = [
        Exclusion(node, tuple(codes), text, wide)
        for node, codes, text, wide in kinds["excludes",].iter_rows()
    ]
    unparsed = tuple(kinds["unparsed",].select("node", "text").iter_rows())
    unread = int(pl.read_parquet_metadata(ICD10CM_NOTES)["unread"])
    required = [*_companions_in(kinds["before",], "before"), *_companions_in(kinds["any",], "any")]
    return {
        "exclusions": Exclusions(release, tuple(excluding), unparsed),
        "companions": Companions(release, tuple(required), unread),
    }


def _companions_in(notes: pl.DataFrame, position: str) -> Iterator[Companion]:
    """A rule for each note, all at this position; their findings are warnings if ``before``."""
    severity = "warning" if position == "before" else "note"
    for node, needs, source, _ in notes.iter_rows():
        stated = {"if": node, "needs": tuple(needs), "position": position, "source": source}
        yield Companion.model_validate(stated | {"severity": severity})


ICD10CM = BuiltInHierarchy(
    name="icd10cm",
    title="ICD-10-CM, April 2026: all diagnoses, with notes on other codes",
    load=_load_icd10cm,
)


WHO_CODES = Path(__file__).parent / "data" / "who_icd10.txt.xz"
"""A code of ICD-10 of the WHO a line, compiled by ``scripts/compile_who_codes.py``."""


@cache
def complete_codes(table: str) -> frozenset[str]:
    """All codes of a code set: those of the edition that is here, and `once_valid`."""
    listed: Iterable[str]
    if table == WHO:
        listed = lzma.decompress(WHO_CODES.read_bytes()).decode().split()
    elif table == DIAGNOSES:
        listed = pl.read_parquet(ICD10CM_NODES).filter("assignable")["node"]
    else:
        ninth = pl.read_csv(ICD9CM_NODES.read_bytes(), infer_schema=False)
        codes = ninth.filter(pl.col("assignable") == "true")["node"]
        listed = (code for code in codes if table_of(code) == table)
    return frozenset(listed) | once_valid(table).keys()
