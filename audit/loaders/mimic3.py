"""MIMIC-III: diagnoses and procedures of hospital admissions, coded in ICD-9-CM."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.files import read_table
from audit.loaders.common import pick, present, raw_labels
from audit.loaders.format import Columns, LabelFormat, RawLabels
from audit.loaders.mimic import dictionaries_beside, kind_of, matcher, tables_of, tidied


def read(path: Path, columns: Columns) -> RawLabels:
    """Read the tables of a folder, or one table; the group is the patient unless named."""
    tables = tables_of(path)
    rows = pl.concat([_rows(table, columns) for table in tables], how="diagonal")
    return raw_labels(
        rows,
        rows,
        path,
        sources=tables,
        titles=dictionaries_beside(tables),
        persons=True,
    )


def _rows(table: Path, columns: Columns) -> pl.DataFrame:
    frame = read_table(table)
    rows = pick(
        frame,
        table,
        instance=columns.id or "hadm_id",
        label=columns.label or "icd9_code",
        group=columns.group or present(frame, "subject_id"),
        split=columns.split,
        position=present(frame, "seq_num"),
    )
    return tidied(rows).with_columns(table=pl.lit(kind_of(table), pl.String))


FORMAT = LabelFormat(
    name="mimic3",
    title="a folder with DIAGNOSES_ICD or PROCEDURES_ICD, or such a table with HADM_ID, ICD9_CODE",
    matches=matcher({"hadm_id", "icd9_code"}),
    read=read,
)
