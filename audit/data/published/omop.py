"""OMOP CDM 5.3 and 5.4: conditions and procedures of visits, with their concepts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from glob import escape
from pathlib import Path

import polars as pl

from audit.base.databases import is_database
from audit.base.errors import InputError
from audit.base.files import bare_suffix, files_in
from audit.base.readings import Reading, asked
from audit.base.table import AT_ONCE, Table, name_among
from audit.base.tables import open_table, open_tables
from audit.data.published.wanted import Wanted, code_set, meant
from audit.data.records import pick

_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")
_KINDS = {"condition_occurrence": "condition_start_date", "procedure_occurrence": "procedure_date"}
"""Tables of occurrences, with the column of their day."""
_SIDES = {
    "standard": "concepts that codes were mapped to are labels",
    "source": "source concepts are labels",
}
_CODES, _VISITS, _VISIT = "concept", "visit_occurrence", "visit_occurrence_id"
_OF_VISIT = ("visit_concept_id", "care_site_id")
_KEYS = ["resource", *_SIDES]
_OWN = (
    *("person_id", "date", _VISIT, "source_value", "type_concept_id", "resource", *_OF_VISIT),
    *("instance", "group", "day", "label", "table", "refused"),
)


def omop_of(place: Path | str, wanted: Wanted) -> Table | None:
    """The conditions and procedures of a folder or a database of OMOP that holds concepts too; None
    of others.

    An instance is the visit, else the person and day. The label is the code of the concept in the
    vocabulary that is stated, or the only one; concept 0 is refused with its source value.
    """
    if not (place.is_dir() if isinstance(place, Path) else is_database(place)):
        return None
    tables = _tables(place)
    kinds = [kind for kind in _KINDS if kind in tables]
    if not kinds or _CODES not in tables:
        return None
    counts = _counted(tables, kinds)
    vocabulary = _vocabulary(counts, wanted, place)
    side = _side(counts, vocabulary, wanted, place)
    codes = _labels(counts, side, vocabulary)
    visits = pl.DataFrame(schema=dict.fromkeys((_VISIT, *_OF_VISIT), pl.String))
    if _VISITS in tables:
        named = {one: one for one in visits.columns}
        visits = pl.concat([visits, *_frames(tables[_VISITS], named, _OF_VISIT)])
        visits = visits.drop_nulls(_VISIT).unique(_VISIT, keep="first", maintain_order=True)
    day = pl.concat_str("person_id", "date", separator=" ")
    label = pl.coalesce("label", "source_value", side)
    made = {"group": pl.col("person_id"), "day": day, "instance": pl.coalesce(_VISIT, day)}

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        for kind in kinds:
            for rows in _occurrences(tables[kind], kind, at_once):
                rows = rows.join(visits, on=_VISIT, how="left", maintain_order="left")
                rows = rows.join(codes, _KEYS, "left", nulls_equal=True, maintain_order="left")
                yield rows.with_columns(label.alias(side), label=label, **made).select(columns)

    read = [tables[one] for one in (*kinds, _CODES, _VISITS) if one in tables]
    queried = dict(read[0].queried)
    if queried:
        queried["query"] = f"tables of OMOP: {', '.join(one for one in tables)}"
    return Table(
        str(place),
        dict.fromkeys((*_OWN, side), pl.String()),
        scan,
        tuple(file for one in read for file in one.files),
        hashing=lambda: " ".join(one.digest for one in read).strip(),
        queried=queried,
        readings=tuple(_told(codes, vocabulary, wanted)),
        layout="omop",
    )


def _tables(place: Path | str) -> Mapping[str, Table]:
    """The tables that are read of a folder or a database by the names that the CDM gives them."""
    wanted = (*_KINDS, _CODES, _VISITS)
    if isinstance(place, Path):
        files = [one for one in files_in(place) if bare_suffix(one) in _SUFFIXES]
        named = {one.name.partition(".")[0].lower(): one for one in files}
        return {name: open_table(named[name]) for name in wanted if name in named}
    held = {re.split(r": |\.", one.name)[-1].lower(): one for one in open_tables(place)}
    return {name: held[name] for name in wanted if name in held}


def _frames(
    table: Table, columns: Mapping[str, str], others: Sequence[str] = (), at_once: int = AT_ONCE
) -> Iterator[pl.DataFrame]:
    """Columns of a table by role as tidy text, a frame without rows first; those of ``others``
    are null where the table lacks them."""
    names = [*table.schema]
    own = {
        role: name_among(names, column, table)
        for role, column in columns.items()
        if role not in others or table.column(column)
    }
    lacking = {role: pl.lit(None, pl.String) for role in columns if role not in own}
    yield pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    for frame in table.frames([*own.values()], at_once):
        yield pick(frame, table, **own).with_columns(**lacking).select(*columns)


def _occurrences(table: Table, kind: str, at_once: int = AT_ONCE) -> Iterator[pl.DataFrame]:
    """The occurrences of a kind, concepts as ids without a point."""
    name = kind.partition("_")[0]
    columns = {
        "person_id": "person_id",
        "date": _KINDS[kind],
        _VISIT: _VISIT,
        "standard": f"{name}_concept_id",
        "source": f"{name}_source_concept_id",
        "source_value": f"{name}_source_value",
        "type_concept_id": f"{name}_type_concept_id",
    }
    for rows in _frames(table, columns, ["type_concept_id"], at_once):
        ids = pl.col(*_SIDES).str.replace(r"\.0$", "")
        yield rows.with_columns(ids, pl.col("date").str.head(10), resource=pl.lit(name))


def _counted(tables: Mapping[str, Table], kinds: Sequence[str]) -> pl.DataFrame:
    """``rows`` by kind and both concepts, and ``loose``, those that name no visit; code and
    vocabulary of each concept."""
    found = [
        rows.group_by(_KEYS).agg(rows=pl.len(), loose=pl.col(_VISIT).null_count())
        for kind in kinds
        for rows in _occurrences(tables[kind], kind)
    ]
    counts = pl.concat(found).group_by(_KEYS).agg(pl.col("rows", "loose").cast(pl.Int64).sum())
    columns = {"id": "concept_id", "code": "concept_code", "vocabulary": "vocabulary_id"}
    ids = pl.concat(counts[side] for side in _SIDES).unique().drop_nulls().implode()
    known = pl.concat(
        rows.filter(pl.col("id").is_in(ids)) for rows in _frames(tables[_CODES], columns)
    ).unique("id", keep="first", maintain_order=True)
    for side in _SIDES:
        own = known.select(
            pl.col("id").alias(side), pl.col("code", "vocabulary").name.prefix(f"{side}_")
        )
        counts = counts.join(own, on=side, how="left")
    return counts.sort(_KEYS)


def _vocabulary(counts: pl.DataFrame, wanted: Wanted, where: object) -> str:
    """The vocabulary whose codes are labels."""
    nodes, rows = Counter[str](), Counter[str]()
    for side in _SIDES:
        held, own = Counter[str](), Counter[str]()
        columns = counts.select(f"{side}_vocabulary", f"{side}_code", "rows").drop_nulls()
        for name, code, n in columns.iter_rows():
            own[name] += n
            held[name] += n * wanted.nodes.is_node(code)
        nodes, rows = nodes | held, rows | own
    rows.pop("None", None)  # of concept 0
    names = meant(rows, nodes, escape(wanted.vocabulary), "vocabulary", where)
    if not names:
        raise InputError("concepts of a vocabulary are required", found="none", where=where)
    return names[0]


def _side(counts: pl.DataFrame, vocabulary: str, wanted: Wanted, where: object) -> str:
    """Which concepts are the labels: the side that is named, or that has the vocabulary."""
    if wanted.columns.label and (stated := wanted.columns.label[0]) in _SIDES:
        return stated
    own = {side: counts.filter(pl.col(f"{side}_vocabulary") == vocabulary) for side in _SIDES}
    having = [side for side in _SIDES if own[side].height]
    unlike = pl.col("standard").ne_missing(pl.col("source"))
    if len(having) > 1 and pl.concat(own.values()).filter(unlike).height:
        offers = [
            Reading(_SIDES[side], "", int(own[side]["rows"].sum()), f"--label {side}")
            for side in having
        ]
        raise asked(f"it must be stated which concepts of {vocabulary} are labels", offers, where)
    return having[0]


def _labels(counts: pl.DataFrame, side: str, vocabulary: str) -> pl.DataFrame:
    """``label, table, refused`` by kind and both concepts; refused unless of the vocabulary."""
    of = pl.col(f"{side}_vocabulary")
    is_own, is_mapped = (of == vocabulary).fill_null(False), pl.col(side).fill_null("0") != "0"
    unknown = pl.when(is_mapped & of.is_not_null()).then(pl.lit("left_out"))
    return counts.select(
        *(*_KEYS, "rows", "loose"),
        label=pl.when(is_own | is_mapped).then(pl.coalesce(f"{side}_code", side)),
        table=pl.when(is_own).then(pl.lit(code_set(vocabulary), pl.String)),
        refused=pl.when(~is_own).then(unknown.otherwise(pl.lit("unknown_code"))),
    )


def _told(codes: pl.DataFrame, vocabulary: str, wanted: Wanted) -> Iterator[Reading]:
    """Readings on rows of other vocabularies, which are left out, and rows without a visit."""
    if left := int(codes.filter(refused="left_out")["rows"].sum()):
        said, option = "concepts of other vocabularies are no labels", "another --vocabulary"
        yield Reading(said, f"labels are those of {vocabulary}", left, option)
    yield from wanted.told_of_days(int(codes["loose"].sum()), _VISIT)
