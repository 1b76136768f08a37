"""Events of persons as labels: MEDS, FHIR and OMOP, each a source that knows its own rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import polars as pl

from audit.base.errors import InputError, SchemaError
from audit.data.batches import batched
from audit.data.label_format import (
    Chosen,
    Columns,
    LabelFormat,
    RawLabels,
    raw_labels,
    table_by,
)
from audit.data.mapping import REASONS
from audit.data.records import column_for, pick
from audit.data.sources import Source
from audit.data.sources.events import Events


def read(source: Source, columns: Columns) -> RawLabels:
    """Read the codes with their instances, persons as groups, and splits where there are some."""
    source = _events(source)
    frames = [*source.events(columns, 0)]
    if not frames:
        raise InputError("rows of codes are required", found="none", where=source)
    rows = pl.concat(frames)
    split = columns.split or ("split" if "split" in rows.columns else None)
    roles = {"instance": columns.id or "instance", "label": columns.label or "label"}
    beside = {"group": columns.group or "group", "split": split, "table": "table"}
    picked = pick(rows, source, **roles, **beside, **columns.further)
    told = pl.col("table").is_in(REASONS)
    refused = pl.when(told & pl.col("instance").is_not_null()).then("table")
    picked = picked.with_columns(refused=refused, table=pl.when(~told).then("table"))
    known = {"id": columns.id or source.instance, "readings": source.said(columns)}
    return raw_labels(picked, picked, source, columns.rules, **known)


def choose(source: Source, columns: Columns, rows: Source) -> Chosen:
    """The columns of events that stand together by instance, as `Choose` says."""
    source = _events(source)
    names = (columns.id or source.instance, columns.label or "label")
    told, kept = source.said(columns), partial(_frames, columns=columns)
    return Chosen(names[0], names[1:], kept, readings=told, rules=columns.rules)


def _frames(
    source: Source, chosen: Chosen, at_once: int, *, columns: Columns
) -> Iterator[pl.DataFrame]:
    source = _events(source)
    for frame in batched(source.events(columns, at_once), at_once):
        roles = {"instance": columns.id or "instance", "label": columns.label or "label"}
        held = (column_for(*role, frame.columns, source) for role in roles.items())
        rows = frame.select(
            *(pl.col(n).alias(r) for n, r in zip(held, roles, strict=True)), "table"
        )
        for mark in chosen.rules.marked(frame, source, chosen.rules.roles):
            own = pl.when(pl.lit(mark).is_in(REASONS)).then(pl.lit(mark))
            by_rules = own.otherwise(table_by(pl.lit(mark), pl.col("table")))
            refused = pl.col("table").is_in(REASONS)
            rows = rows.with_columns(table=pl.when(refused).then("table").otherwise(by_rules))
        yield rows


def _events(source: Source) -> Events:
    if not isinstance(source, Events):
        required = "a folder of MEDS, OMOP or FHIR is required"
        raise SchemaError(required, found=source.kind, where=source)
    return source


def _matches(name: str, source: Source) -> bool:
    return isinstance(source, Events) and source.format == name


FHIR = LabelFormat(
    "fhir",
    "Condition and Procedure of FHIR R4: lines of a bulk export, or Bundles; or a folder of these",
    partial(_matches, "fhir"),
    read,
    choose,
    persons=True,
)
MEDS = LabelFormat(
    "meds",
    "a folder of MEDS, with metadata/codes.parquet and shards below data/",
    partial(_matches, "meds"),
    read,
    choose,
    persons=True,
)
OMOP = LabelFormat(
    "omop",
    "tables of OMOP CDM, condition_occurrence or procedure_occurrence with concept, in a folder "
    "or a database",
    partial(_matches, "omop"),
    read,
    choose,
    persons=True,
)
