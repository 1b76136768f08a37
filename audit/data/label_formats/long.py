"""Tables of one column of labels: one a row, a list of them, or several joined in one cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from audit.base.errors import first_cases
from audit.base.files import called
from audit.data.known_nodes import separator_of, sign_between
from audit.data.label_format import (
    Chosen,
    Columns,
    LabelFormat,
    Layout,
    RawLabels,
    exploded,
    raw_labels,
)
from audit.data.label_formats import tables
from audit.data.label_formats.several import refuse_one_of_several
from audit.data.records import (
    UnclearColumnsError,
    column_for,
    id_among,
    is_numbering,
    is_opaque,
    only_texts,
    parts,
    pick,
)
from audit.data.sources import Source


def choose(source: Source, columns: Columns, rows: Source) -> Chosen:
    """The columns of the labels and of the id, as `audit.data.label_format.Choose`.

    An empty or null list is an instance without labels.
    """
    names = list(source.schema)
    label = label_column(source.schema, columns.label, source)
    if not (_is_list(source.schema[label]) or is_numbering(columns.id, names)):
        taken = {label, *tables.roles_of(columns, names, source).values()}
        others = [n for n in names if n not in taken and not is_opaque(source.schema[n])]
        texts = columns.id is None and only_texts(names, taken, source)
        if columns.id is not None or (others and not texts) or len(names) == 1:
            columns = replace(columns, id=id_among(names, columns.id, taken, source))
    return tables.chosen_rows(source, columns, rows, [label])


def matches(source: Source) -> bool:
    """Whether the table has a column ``label``, or a column ``labels`` that holds lists."""
    listed = _is_list(source.columns.get("labels"))
    return ("label" in source.columns or listed) and not is_joined(source)


def label_column(schema: Mapping[str, pl.DataType], named: str | None, source: Source) -> str:
    """The column of labels, or lists of labels: the one that the user named, else the only one."""
    found = [name for name, dtype in schema.items() if _holds_labels(name, dtype)]
    if named is None and len(found) != 1:
        raise UnclearColumnsError(
            "exactly one column must hold the labels, as one named label does",
            found=f"the candidates {first_cases(found)}"
            if found
            else f"the columns {first_cases(schema)}",
            where=source,
            hint="name it with --label",
        )
    column = column_for("label", named or found[0], list(schema), source)
    refuse_one_of_several(column, source)
    return column


def _holds_labels(name: str, dtype: pl.DataType) -> bool:
    name = name.strip().lower()
    return name == "label" or (name == "labels" and _is_list(dtype))


def _is_list(dtype: pl.DataType | None) -> bool:
    return isinstance(dtype, (pl.List, pl.Array))


_NAMES = ("labels", "label", "codes")
"""Names of the column of labels unless the user names one; case is ignored."""


def choose_joined(source: Source, columns: Columns, rows: Source) -> Chosen:
    """The columns of the joined labels and of the id, as `audit.data.label_format.Choose`.

    Labels are joined by the sign that the first cells show; where they show none, each cell holds
    one label, a blank one none.
    """
    names = list(source.schema)
    usual = called(names, _NAMES) or _NAMES
    label = column_for("label", columns.label or usual[0], names, source)
    cells = source.first_cells(label)
    sign, by_nodes = sign_between(cells, source.nodes)
    sign = sign or separator_of(cells)
    chosen = tables.chosen_rows(source, columns, rows, [label], joined=True, sign=sign)
    if sign:
        told = tables.told_of_parts(sign, [label], rows, by_nodes=by_nodes)
        chosen = replace(chosen, readings=(*chosen.readings, *told))
    return chosen


def is_joined(source: Source) -> bool:
    """Whether a column named ``labels``, ``label`` or ``codes`` has cells with several labels."""
    named = called(source.schema, _NAMES)
    others = is_caml(source) or is_fsd50k(source)
    return len(named) == 1 and not others and holds_several(source, named[0])


def is_fsd50k(source: Source) -> bool:
    """Whether a table has the columns of FSD50K, whose labels are joined twice over."""
    return {"fname", "labels", "mids"} <= source.columns.keys()


def holds_several(source: Source, column: str) -> bool:
    """Whether the first cells of a column hold several labels; as codes in a column ``label``."""
    codes = column.strip().lower() == "label"
    return sign_between(source.first_cells(column), source.nodes, codes=codes)[0] is not None


def read_caml(source: Source, columns: Columns) -> RawLabels:
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
    layout = Layout(found["instance"], (found["labels"],), of_instances=True, sign=";")
    known = {"id": found["instance"], "layout": layout}
    return raw_labels(exploded(listed), listed, source, columns.rules, **known)


def is_caml(source: Source) -> bool:
    """Whether a table has the columns ``hadm_id`` and ``labels``, as text but for the id."""
    return "hadm_id" in source.columns and source.columns.get("labels") == pl.String()


CAML = LabelFormat(
    name="caml",
    title="CSV with a header that has hadm_id and labels, the labels joined by semicolons",
    matches=is_caml,
    read=read_caml,
    persons=True,
)
JOINED = tables.table_format(
    name="joined",
    title="CSV, TSV or Parquet with a row per instance and its codes in one cell, joined by ; , |"
    " or a blank",
    matches=is_joined,
    choose=choose_joined,
)
FORMAT = tables.table_format(
    name="long",
    title="CSV, TSV or Parquet with the columns instance and label, or Parquet with lists in"
    " labels",
    matches=matches,
    choose=choose,
)
