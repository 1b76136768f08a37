"""The code sets that a column of codes may hold, with all codes ever assignable and headings."""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path

import polars as pl

from audit.hierarchies.icd.built_in import ICD9CM_NODES, ICD10CM_NODES
from audit.hierarchies.icd.icd9 import once_valid
from audit.hierarchies.icd.icd10 import DIAGNOSES, WHO

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
