"""Codes that are of two versions, in records whose other codes are all of the other version."""

from __future__ import annotations

import polars as pl

from audit.base.readings import Reading
from audit.data.row_rules import version_of
from audit.hierarchies.coding import BESIDE, Integrity
from audit.hierarchies.hierarchy import Hierarchy


def shown_by(labels: pl.Series, hierarchy: Hierarchy) -> pl.DataFrame:
    """``label, version`` of labels: ``own``, ``other``, ``both``; none if no record can decide."""
    integrity = hierarchy.coding.integrity if hierarchy.coding else None
    asked = labels.unique() if integrity and integrity.other_version else labels.clear()
    shown = [_version(label, integrity) for label in asked] if integrity else []
    found = pl.DataFrame({"label": asked, "version": pl.Series(shown, dtype=pl.String)})
    return found if {"other", "both"} <= set(shown) else found.clear()


def _version(label: str, integrity: Integrity) -> str | None:
    if integrity.other_version is not None and integrity.other_version(label):
        return "other"
    if not integrity.readings(label, None):
        return None
    return "both" if label.strip()[0] in "EVev" else "own"


def both_versions(labels: pl.DataFrame, hierarchy: Hierarchy) -> tuple[Reading, ...]:
    """What is told of codes of two versions where records are not seen, of counts with nodes."""
    free = labels.filter(pl.col("table").is_null())
    shown = shown_by(free["label"], hierarchy).filter(version="both")
    decision = "codes of two versions are of the hierarchy's, whatever their record holds"
    evidence = "records are not seen as a whole where data are only counted"
    kept = free.filter(pl.col("node").is_not_null())
    rows = int(kept.join(shown, on="label")["rows"].sum())
    return (Reading(decision, evidence, rows, "--engine memory"),) if rows else ()


def with_versions(
    rows: pl.DataFrame, hierarchy: Hierarchy
) -> tuple[pl.DataFrame, tuple[Reading, ...]]:
    """Rows of which those are refused whose code is of the other version by the rest of the record.

    Args:
        rows: `audit.data.label_format.ROWS`; a row with a table has a version already.
        hierarchy: The hierarchy.
    """
    free = pl.all_horizontal(pl.col("table", "refused").is_null(), pl.col("label").is_not_null())
    shown = shown_by(rows.filter(free)["label"], hierarchy)
    if shown.is_empty():
        return rows, ()
    told = rows.join(shown, on="label", how="left", maintain_order="left")
    version = pl.when(free).then("version")
    others = [(version == one).any().over("instance") for one in ("other", "own")]
    touched = told.select((version == "both") & others[0] & ~others[1]).to_series().fill_null(False)
    if not touched.any():
        return rows, ()
    found = rows.with_columns(
        refused=pl.when(touched).then(pl.lit("other_version")).otherwise("refused"),
        table=pl.when(touched).then(pl.lit(BESIDE)).otherwise("table"),
    )
    decision = "codes of two versions are of another one, where all others of their record are"
    evidence = "E and V codes are of ICD-9-CM and of ICD-10-CM"
    own = version_of(hierarchy.coding.name.partition("/")[0]) if hierarchy.coding else None
    option = f"--code-version {own}"
    return found, (Reading(decision, evidence, int(touched.sum()), option),)
