"""MIMIC-III: diagnoses and procedures of hospital admissions, coded in ICD-9-CM."""

from __future__ import annotations

import polars as pl

from audit.data.label_format import Columns, LabelFormat, RawLabels
from audit.data.label_formats.mimic import coded_rows, kind_of, labels_of, matcher, tables_of
from audit.data.sources import Source


def read(source: Source, columns: Columns) -> RawLabels:
    """Read the tables of a folder, or one table; the group is the patient by default."""
    tables = tables_of(source)
    return labels_of([_rows(table, columns) for table in tables], source, tables, columns)


def _rows(table: Source, columns: Columns) -> pl.DataFrame:
    rows = coded_rows(table.table(), table, columns, "icd9_code")
    return rows.with_columns(table=pl.lit(kind_of(table), pl.String))


FORMAT = LabelFormat(
    name="mimic3",
    title="a folder with DIAGNOSES_ICD or PROCEDURES_ICD, or such a table with HADM_ID, ICD9_CODE",
    matches=matcher({"hadm_id", "icd9_code"}),
    read=read,
    of_folders=True,
)
