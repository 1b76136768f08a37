"""MIMIC-IV: diagnoses and procedures of hospital admissions, coded in ICD-9 or ICD-10."""

from __future__ import annotations

import polars as pl

from audit.data.label_format import Columns, LabelFormat, RawLabels
from audit.data.label_formats.mimic import coded_rows, kind_of, labels_of, matcher, tables_of
from audit.data.records import present
from audit.data.sources import Source


def read(source: Source, columns: Columns) -> RawLabels:
    """Read the tables of a folder or its ``hosp`` subfolder, or one table; groups are patients.

    ``table`` is ``diagnoses`` or ``procedures`` for ICD-9, ``diagnoses-10`` or ``procedures-10``
    for ICD-10; a row of any other version is refused as ``bad_row``.
    """
    tables = tables_of(source, "hosp")
    return labels_of([_rows(table, columns) for table in tables], source, tables, columns)


def _rows(table: Source, columns: Columns) -> pl.DataFrame:
    frame = table.table()
    rows = coded_rows(frame, table, columns, "icd_code", version="icd_version")
    kind = kind_of(table) or ("procedures" if present(frame, "chartdate") else "diagnoses")
    return _versioned(rows, kind)


def _versioned(rows: pl.DataFrame, kind: str) -> pl.DataFrame:
    version = pl.col("version").cast(pl.Float64, strict=False)
    unknown = pl.when(~version.is_in([9.0, 10.0]).fill_null(False)).then(pl.lit("bad_row"))
    refused = pl.coalesce("refused", unknown) if "refused" in rows.columns else unknown
    tenth = pl.when(version == 10).then(pl.lit(f"{kind}-10"))
    return rows.with_columns(table=tenth.otherwise(pl.lit(kind)), refused=refused).drop("version")


FORMAT = LabelFormat(
    name="mimic4",
    title="a folder with diagnoses_icd or procedures_icd, or such a table with hadm_id, icd_code,"
    " icd_version",
    matches=matcher({"hadm_id", "icd_code", "icd_version"}, "hosp"),
    read=read,
    of_folders=True,
)
