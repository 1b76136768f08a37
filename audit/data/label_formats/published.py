"""Tables in the columns of their publishers: annotations of genes and of diseases (GAF 2, GPAD,
phenotype.hpoa of HPO), of pictures and sounds (Open Images, FSD50K)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from shlex import quote

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import called
from audit.base.readings import Reading
from audit.data.label_format import Chosen, Columns
from audit.data.label_formats import long, tables
from audit.data.records import column_for
from audit.data.sources import Source


@dataclass(frozen=True)
class _Layout:
    """One format, by its published columns.

    Args:
        marks: A further column by which it is recognised.
        negated: Values by column of rows that say what is not so, as patterns.
        within: The column of the database within which ids differ.
    """

    name: str
    title: str
    id: str
    label: str
    marks: str
    negated: dict[str, tuple[str, ...]]
    within: str = ""


_NOT = ("NOT", "NOT|*")
_LAYOUTS = (
    _Layout("gaf", "GAF 2.0 to 2.2: annotations of gene products", "DB_Object_ID", "GO_ID",
            "Aspect", {"Qualifier": _NOT}, "DB"),
    _Layout("gpad", "GPAD 1: annotations of gene products", "DB_Object_ID", "GO_ID",
            "Annotation_Properties", {"Qualifier": _NOT}, "DB"),
    _Layout("gpad2", "GPAD 2.0: annotations of gene products", "DB_Object_ID",
            "Ontology_Class_ID", "Negation", {"Negation": _NOT}),
    _Layout("hpoa", "phenotype.hpoa: phenotypes of diseases", "database_id", "hpo_id",
            "biocuration", {"qualifier": _NOT, "frequency": ("0/*", "0%", "HP:0040285")}),
)  # fmt: skip
_OLDER = {"database_id": "DatabaseID"}
"""What columns of phenotype.hpoa are called in earlier releases."""


def _named(layout: _Layout, name: str, source: Source) -> str:
    return next(iter(called(source.schema, [name, _OLDER.get(name, name)])), name)


def _matches(layout: _Layout, source: Source) -> bool:
    wanted = (layout.id, layout.label, layout.marks, *layout.negated)
    there = source.columns
    return bool(there) and all(_named(layout, n, source).lower() in there for n in wanted)


def _choose(layout: _Layout, source: Source, columns: Columns, rows: Source) -> Chosen:
    """The published columns, and rules that leave out what is said not to be so."""
    names = [*source.schema]
    column_for("", _named(layout, layout.marks, source), names, source)
    label = column_for("label", columns.label or layout.label, names, source)
    id = columns.id or _named(layout, layout.id, source)
    chosen = tables.chosen_rows(source, replace(columns, id=id), rows, [label])
    stated = {one.partition("=")[0].strip(" !").lower() for one in columns.rules.where}
    if layout.within and columns.id is None and layout.within.lower() not in stated:
        _refuse_shared_ids(source, rows, layout.within, id)
    rules, told = columns.rules, list(chosen.readings)
    for name, patterns in layout.negated.items():
        column = _named(layout, name, source)
        if column.lower() in stated:
            continue
        column = column_for(name, column, names, source)
        left = _rows_of(rows, column, patterns)
        rules = replace(rules, where=(*rules.where, *(f"{column}!={one}" for one in patterns)))
        decision = f"annotations with {first_cases(patterns)} in {column!r} are left out"
        said = Reading(
            decision, "they say what does not hold", left, f"--where {quote(f'{column}=*')}",
            "annotations",
        )  # fmt: skip
        told += [said] if left else []
    return replace(chosen, rules=rules, readings=tuple(told))


def _rows_of(rows: Source, column: str, patterns: tuple[str, ...]) -> int:
    """Number of rows whose cell fits a pattern, case ignored as in rules of rows."""
    found, wanted = 0, [one.casefold() for one in patterns]
    for frame in rows.frames([column], tables.AT_ONCE):
        cells = frame[column].cast(pl.String).str.strip_chars().drop_nulls().value_counts(name="n")
        for text, n in cells.iter_rows():
            found += n * any(fnmatchcase(text.casefold(), one) for one in wanted)
    return found


def _refuse_shared_ids(source: Source, rows: Source, within: str, id: str) -> None:
    """Raise SchemaError where two databases have the same id for different things."""
    base = column_for(within, within, [*source.schema], source)
    of: dict[str, str] = {}
    for frame in rows.frames([id, base], tables.AT_ONCE):
        for own, name in frame.unique().drop_nulls().iter_rows():
            if of.setdefault(str(own), str(name)) != str(name):
                raise SchemaError(
                    "an id must be that of one database",
                    found=f"{own!r} in {of[str(own)]!r} and in {name!r}",
                    where=source,
                    hint=f"--where {quote(f'{base}={name}')} reads those of one",
                )


FORMATS = tuple(
    tables.table_format(one.name, one.title, partial(_matches, one), partial(_choose, one))
    for one in _LAYOUTS
)


def _is_open_images(source: Source) -> bool:
    return {"imageid", "labelname", "confidence"} <= source.columns.keys()


def _choose_open_images(source: Source, columns: Columns, rows: Source) -> Chosen:
    """Images and their labels, without those that were verified not to hold: confidence 0."""
    names = [*source.schema]
    label = column_for("label", columns.label or "LabelName", names, source)
    sure = column_for("", "Confidence", names, source)
    wanted = replace(columns, id=columns.id or "ImageID")
    chosen = tables.chosen_rows(source, wanted, rows, [label])
    if any(one.partition("=")[0].strip(" !").lower() == "confidence" for one in wanted.rules.where):
        return chosen
    never = unsure = 0
    for frame in rows.frames([sure], tables.AT_ONCE):
        numbers = frame[sure].cast(pl.Float64, strict=False)
        never += int((numbers == 0).sum())
        unsure += int(((numbers > 0) & (numbers < 1)).sum())
    leave = [f"{sure}!={zero}" for zero in ("0", "0.0")]
    negative = Reading(
        "labels that were verified not to hold are left out", f"their {sure!r} is 0",
        never, f"--where '{sure}=*'", "labels",
    )  # fmt: skip
    some = Reading(
        f"labels with a {sure!r} between 0 and 1 count", "only 0 says that a label does not hold",
        unsure, f"--where '{sure}=1'", "labels",
    )  # fmt: skip
    told = [one for one in (negative, some) if one.rows]
    rules = replace(wanted.rules, where=(*wanted.rules.where, *leave))
    return replace(chosen, rules=rules, readings=(*chosen.readings, *told))


def _choose_fsd(source: Source, columns: Columns, rows: Source) -> Chosen:
    """Clips and their labels: the ids of AudioSet, unless the names are nodes more often."""
    names = [*source.schema]
    mids, labels = (column_for("label", one, names, source) for one in ("mids", "labels"))
    share = {one: source.share_of_nodes(one) or 0.0 for one in (mids, labels)}
    best = max((mids, labels), key=share.__getitem__)
    label = column_for("label", columns.label or best, names, source)
    wanted = replace(columns, id=columns.id or "fname")
    return tables.chosen_rows(source, wanted, rows, [label], joined=True, sign=",")


OPEN_IMAGES = tables.table_format(
    "openimages", "Open Images: ImageID, LabelName and Confidence, of which 0 is a verified no",
    _is_open_images, _choose_open_images,
)  # fmt: skip
FSD50K = tables.table_format(
    "fsd50k", "FSD50K: fname with labels and mids joined by commas", long.is_fsd50k, _choose_fsd
)
