"""The classifications that come with the package, and all codes of their sets with headings."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
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
from audit.hierarchies.icd.icd9 import ICD9, TABLES, once_valid
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
    name="icd9cm",
    title="ICD-9-CM version 32: all diagnoses and procedures",
    load=_load_icd9cm,
)


_DATA = Path(__file__).parent / "data"
ICD10CM_NODES = _DATA / "icd10cm.parquet"
"""``node, parent, title, assignable`` in code-point order, compiled by
``scripts/compile_icd10cm.py``; ``parent`` is the number of a row."""
ICD10CM_NOTES = _DATA / "icd10cm_notes.parquet"
"""``kind, node, codes, text, wide`` of each note on other codes, compiled by the same script."""


def icd10cm_rules(release: str) -> dict[str, Any]:
    """What is true of any release of ICD-10-CM, as `Hierarchy` takes it."""
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
    kinds = pl.read_parquet(ICD10CM_NOTES).partition_by("kind", as_dict=True, include_key=False)
    excluding = [
        Exclusion(node, tuple(codes), text, wide)
        for node, codes, text, wide in kinds["excludes",].iter_rows()
    ]
    unparsed = tuple(kinds["unparsed",].select("node", "text").iter_rows())
    unread = int(pl.read_parquet_metadata(ICD10CM_NOTES)["unread"])
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


ICD10CM = BuiltInHierarchy(
    name="icd10cm",
    title="ICD-10-CM, April 2026: all diagnoses, with notes on other codes",
    load=_load_icd10cm,
)


WHO_CODES = Path(__file__).parent / "data" / "who_icd10.txt.xz"
"""A code of ICD-10 of the WHO a line, compiled by ``scripts/compile_who_codes.py``."""

SAID = {
    "diagnoses": "diagnoses of ICD-9-CM",
    "procedures": "procedures of ICD-9-CM",
    DIAGNOSES: "diagnoses of ICD-10-CM",
    WHO: "codes of ICD-10 of the WHO",
}
"""The code sets, as sentences name them. ICD-10-PCS is none: no list of it comes along."""

HOLDING = {"diagnoses": "icd9cm", "procedures": "icd9cm", DIAGNOSES: "icd10cm", WHO: "icd10cm"}
"""The built-in hierarchy that holds, or is nearest to, the codes of each set."""

_PROCEDURE = r"^[0-9]{2}(?:\.|$)"


def core(text: pl.Expr) -> pl.Expr:
    """What is left of a code, or of a code as written, however it was damaged."""
    return text.str.replace_all(r"[^0-9A-Z]", "").str.strip_chars("0X")


@cache
def code_sets() -> pl.DataFrame:
    """``table, code, heading, head, tail, core`` of all codes and of all proper prefixes of codes.

    ``head`` and ``tail`` are what stands before and after the dot. Read once, in about .1 s.
    """
    ninth = pl.read_csv(ICD9CM_NODES.read_bytes(), columns=["node", "assignable"])
    codes = ninth.filter("assignable").select(
        table=pl.when(pl.col("node").str.contains(_PROCEDURE))
        .then(pl.lit("procedures"))
        .otherwise(pl.lit("diagnoses")),
        code="node",
    )
    tenth = pl.read_parquet(ICD10CM_NODES).filter("assignable")
    who = pl.Series("code", lzma.decompress(WHO_CODES.read_bytes()).decode().split())
    once = [(table, code) for table in SAID for code in once_valid(table)]
    earlier = pl.DataFrame(once, codes.schema, orient="row")
    every = _parted(
        pl.concat(
            [
                codes,
                tenth.select(table=pl.lit(DIAGNOSES), code="node"),
                who.to_frame().select(table=pl.lit(WHO), code="code"),
                earlier,
            ]
        ).unique(maintain_order=True)
    )
    headings = pl.concat([_shorter(every, kept) for kept in range(4)]).unique(maintain_order=True)
    missing = headings.join(every, on=["table", "code"], how="anti")
    both = [every.with_columns(heading=pl.lit(False)), missing.with_columns(heading=pl.lit(True))]
    return pl.concat(both).with_columns(core=core(pl.col("code")))


def _parted(codes: pl.DataFrame) -> pl.DataFrame:
    parts = pl.col("code").str.split_exact(".", 1).struct
    return codes.with_columns(
        head=parts.field("field_0"), tail=parts.field("field_1").fill_null("")
    )


def _shorter(codes: pl.DataFrame, kept: int) -> pl.DataFrame:
    """The codes with more than so many characters after the dot, cut to them."""
    longer = codes.filter(pl.col("tail").str.len_chars() > kept)
    return longer.with_columns(
        code=pl.col("head") + ("." + pl.col("tail").str.slice(0, kept) if kept else ""),
        tail=pl.col("tail").str.slice(0, kept),
    )
