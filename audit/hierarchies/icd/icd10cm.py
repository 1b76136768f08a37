"""The ICD-10-CM classification that comes with the package."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from audit.base import dag
from audit.hierarchies.formats.format import BuiltInHierarchy
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd10 import DIAGNOSES, INTEGRITY, ICD10Coding
from audit.hierarchies.icd.once_valid import once_valid
from audit.hierarchies.notes import Companions, Exclusion, Exclusions
from audit.policy.rules import Companion

_DATA = Path(__file__).parent / "data"
NODES = _DATA / "icd10cm.parquet"
"""``node, parent, title, assignable`` in code-point order, compiled by
``scripts/compile_icd10cm.py``; ``parent`` is the number of a row."""
NOTES = _DATA / "icd10cm_notes.parquet"
"""``kind, node, codes, text, wide`` of each note on other codes, compiled by the same script."""


def rules(release: str) -> dict[str, Any]:
    """What is true of any release of ICD-10-CM, as `Hierarchy` takes it."""
    editions, years = {DIAGNOSES: f"release {release}"}, once_valid(DIAGNOSES)
    integrity = replace(INTEGRITY, editions=editions, years=years)
    return {
        "labelled_ancestors": "fault",
        "coding": ICD10Coding(integrity=integrity),
        "complete_tables": frozenset({DIAGNOSES}),
    }


def _load() -> Hierarchy:
    nodes = pl.read_parquet(NODES)
    linked = nodes.with_row_index("child").drop_nulls("parent")
    child, parent = linked.select("child", "parent").to_numpy().T.astype(np.int64)
    titles = nodes["title"].to_list()
    release = titles[nodes["node"].to_list().index("ICD-10-CM")].partition("release ")[2]
    return Hierarchy(
        name=BUILT_IN.name,
        nodes=tuple(nodes["node"]),
        titles=tuple(titles),
        edges=dag.edge_matrix(child, parent, len(nodes)),
        assignable=nodes["assignable"].to_numpy(),
        **_notes(release),
        **rules(release),
    )


def _notes(release: str) -> dict[str, Any]:
    kinds = pl.read_parquet(NOTES).partition_by("kind", as_dict=True, include_key=False)
    excluding = [
        Exclusion(node, tuple(codes), text, wide)
        for node, codes, text, wide in kinds["excludes",].iter_rows()
    ]
    unparsed = tuple(kinds["unparsed",].select("node", "text").iter_rows())
    unread = int(pl.read_parquet_metadata(NOTES)["unread"])
    required = [*_required(kinds["before",], "before"), *_required(kinds["any",], "any")]
    return {
        "exclusions": Exclusions(release, tuple(excluding), unparsed),
        "companions": Companions(release, tuple(required), unread),
    }


def _required(notes: pl.DataFrame, position: str) -> Iterator[Companion]:
    severity = "warning" if position == "before" else "note"
    for node, needs, source, _ in notes.iter_rows():
        stated = {"if": node, "needs": tuple(needs), "position": position, "source": source}
        yield Companion.model_validate(stated | {"severity": severity})


BUILT_IN = BuiltInHierarchy(
    name="icd10cm",
    title="ICD-10-CM, April 2026: all diagnoses, with notes on other codes",
    load=_load,
)
