"""CAML: one row per admission, with its codes joined by semicolons and the text of its notes."""

from __future__ import annotations

import polars as pl

from audit.base.files import called
from audit.data.label_format import Columns, LabelFormat, RawLabels, exploded, raw_labels
from audit.data.records import column_for, parts, pick
from audit.data.sources import Source


def read(source: Source, columns: Columns) -> RawLabels:
    """Read the codes and skip the text; the group is ``SUBJECT_ID`` if there is that column."""
    names = list(source.schema)
    patient = next(iter(called(names, ["subject_id"])), None)
    roles = {
        "instance": columns.id or "hadm_id",
        "labels": columns.label or "labels",
        "group": columns.group or patient,
        "split": columns.split,
        **columns.further,
    }
    found = {role: column_for(role, name, names, source) for role, name in roles.items() if name}
    source.refuse_numbers(found["instance"], found["labels"])
    picked = pick(source.table(list(dict.fromkeys(found.values()))), source, **found)
    listed = picked.with_columns(labels=parts(pl.col("labels"), ";"))
    return raw_labels(exploded(listed), listed, source, columns.rules, persons=True)


def matches(source: Source) -> bool:
    """Whether a table has the columns ``hadm_id`` and ``labels``, as text but for the id."""
    return "hadm_id" in source.columns and source.columns.get("labels") == pl.String()


FORMAT = LabelFormat(
    name="caml",
    title="CSV with a header that has hadm_id and labels, the labels joined by semicolons",
    matches=matches,
    read=read,
)
