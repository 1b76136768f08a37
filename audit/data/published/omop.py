"""OMOP CDM 5.3 and 5.4: conditions and procedures of visits, with their concepts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import polars as pl

from audit.base.databases import is_database
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import files_in
from audit.base.readings import Reading, asked
from audit.base.streams import bare_suffix
from audit.base.table import AT_ONCE, Table
from audit.base.tables import open_table, open_tables
from audit.data.published.wanted import Wanted, code_set, which

Tables: TypeAlias = Mapping[str, Path | Table]
"""Files, or tables of a database, by the names that the CDM gives them in lower case."""
_CODES = "concept"
_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")
_KINDS = {"condition": "condition_start_date", "procedure": "procedure_date"}
"""Kinds of occurrences, with the column of their day."""
_SIDES = {
    "standard": "concepts that codes were mapped to are labels",
    "source": "source concepts are labels",
}
_KNOWN = ("concept_id", "concept_code", "vocabulary_id")
_VISITS, _VISIT = "visit_occurrence", "visit_occurrence_id"
_OF_VISIT = ("visit_concept_id", "care_site_id")
_KEYS = ("resource", "standard_id", "source_id")
_OWN = (
    "person_id", "date", _VISIT, "source_value", "type_concept_id", *_KEYS, *_OF_VISIT, "instance",
    "group", "day", "label", "table", "refused", *_SIDES,
)  # fmt: skip


def omop_of(place: Path | str, wanted: Wanted) -> Table | None:
    """The conditions and procedures of a folder or a database of OMOP that holds concepts too; None
    of others.

    An instance is the visit, else the person and day. The label is the code of the concept in the
    vocabulary that is stated, or the only one; concept 0 is refused with its source value.
    """
    if not (place.is_dir() if isinstance(place, Path) else is_database(place)):
        return None
    tables = _tables(place)
    kinds = [kind for kind in _KINDS if f"{kind}_occurrence" in tables]
    if not kinds or _CODES not in tables:
        return None
    counts = _counted(tables, kinds)
    ids = pl.concat([counts["standard_id"], counts["source_id"]]).unique().drop_nulls()
    used = pl.col("concept_id").is_in(ids.implode())
    codes = pl.concat(one.filter(used) for one in _frames(tables[_CODES], _KNOWN))
    codes = codes.unique("concept_id", keep="first", maintain_order=True)
    known = _with_codes(counts, codes)
    vocabulary = _vocabulary(known, wanted, place)
    side = _side(known, vocabulary, wanted, place)
    visits = _visits(tables)

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        for kind in kinds:
            for rows in _occurrences(tables, kind, at_once):
                both = rows.join(visits, on=_VISIT, how="left", maintain_order="left")
                yield _labelled(_with_codes(both, codes), side, vocabulary).select(columns)

    names = [*(f"{kind}_occurrence" for kind in kinds), _CODES, _VISITS]
    read = {name: _opened(tables[name]) for name in names if name in tables}
    queried = read[names[0]].queried
    return Table(
        str(place),
        dict.fromkeys(_OWN, pl.String()),
        scan,
        tuple(file for one in read.values() for file in one.files),
        hashing=lambda: " ".join(one.digest for one in read.values()).strip(),
        queried={**queried, "query": f"tables of OMOP: {', '.join(read)}"} if queried else {},
        readings=tuple(_told(known, side, vocabulary, wanted)),
        layout="omop",
    )


def _tables(place: Path | str) -> Tables:
    """The tables of a folder or a database by their names in lower case."""
    if isinstance(place, Path):
        files = [one for one in files_in(place) if bare_suffix(one) in _SUFFIXES]
        return {one.name.partition(".")[0].lower(): one for one in files}
    named = ((re.split(r": |\.", one.name)[-1], one) for one in open_tables(place))
    return {name.lower(): one for name, one in named}


def _opened(table: Path | Table) -> Table:
    return open_table(table) if isinstance(table, Path) else table


def _frames(
    table: Path | Table, columns: Sequence[str], further: Sequence[str] = (), at_once: int = AT_ONCE
) -> Iterator[pl.DataFrame]:
    """Some columns of a table as text, blank cells as null, the first frame without rows;
    ``further`` are null where the table lacks them."""
    table = _opened(table)
    own = {one: table.column(one) for one in (*columns, *further)}
    if lacking := [one for one in columns if own[one] is None]:
        required = f"the columns {first_cases(columns)} are required"
        raise SchemaError(required, found=f"no {first_cases(lacking)}", where=table)
    cells = [pl.lit(None, pl.String) if one is None else pl.col(one) for one in own.values()]
    text = [one.cast(pl.String).str.strip_chars().replace("", None) for one in cells]
    yield pl.DataFrame(schema=dict.fromkeys(own, pl.String))
    for frame in table.frames([one for one in own.values() if one], at_once):
        yield frame.select(one.alias(name) for name, one in zip(own, text, strict=True))


def _occurrences(tables: Tables, kind: str, at_once: int) -> Iterator[pl.DataFrame]:
    """The occurrences of a kind, concepts as ids without a point."""
    names = {
        "person_id": "person_id", _KINDS[kind]: "date", _VISIT: _VISIT,
        f"{kind}_concept_id": "standard_id", f"{kind}_source_concept_id": "source_id",
        f"{kind}_source_value": "source_value",
    }  # fmt: skip
    further = {f"{kind}_type_concept_id": "type_concept_id"}
    whole = pl.col("standard_id", "source_id").str.replace(r"\.0$", "")
    for frame in _frames(tables[f"{kind}_occurrence"], [*names], [*further], at_once):
        rows = frame.rename(names | further)
        yield rows.with_columns(whole, pl.col("date").str.slice(0, 10), resource=pl.lit(kind))


def _counted(tables: Tables, kinds: Sequence[str]) -> pl.DataFrame:
    """``rows`` by kind and both concepts, and ``loose``, those that name no visit."""
    rows = pl.len().cast(pl.Int64).alias("rows")
    loose = pl.col(_VISIT).null_count().cast(pl.Int64).alias("loose")
    frames = (frame for kind in kinds for frame in _occurrences(tables, kind, AT_ONCE))
    some = pl.concat(frame.group_by(_KEYS).agg(rows, loose) for frame in frames)
    return some.group_by(_KEYS).agg(pl.col("rows", "loose").sum()).sort(_KEYS)


def _with_codes(rows: pl.DataFrame, codes: pl.DataFrame) -> pl.DataFrame:
    """Rows with the codes and vocabularies of both of their concepts."""
    for side in _SIDES:
        named = {n: f"{side}_{n.removeprefix('concept_').removesuffix('_id')}" for n in _KNOWN}
        own = codes.rename(named | {"concept_id": f"{side}_id"})
        rows = rows.join(own, on=f"{side}_id", how="left", maintain_order="left")
    return rows


def _visits(tables: Tables) -> pl.DataFrame:
    if _VISITS not in tables:
        return pl.DataFrame(schema=dict.fromkeys((_VISIT, *_OF_VISIT), pl.String))
    found = pl.concat(_frames(tables[_VISITS], [_VISIT], _OF_VISIT))
    return found.drop_nulls(_VISIT).unique(_VISIT, keep="first", maintain_order=True)


def _vocabulary(known: pl.DataFrame, wanted: Wanted, where: object) -> str:
    """The vocabulary whose codes are labels."""
    nodes, counts = Counter[str](), Counter[str]()
    for side in _SIDES:
        held, own = Counter[str](), Counter[str]()
        columns = (f"{side}_vocabulary", f"{side}_code", "rows")
        for name, code, n in known.select(columns).drop_nulls().iter_rows():
            own[name] += n
            held[name] += n * wanted.nodes.is_node(code)
        nodes, counts = nodes | held, counts | own
    counts.pop("None", None)  # of concept 0
    names = {name.lower(): name for name in counts}
    stated = wanted.vocabulary.lower()
    if (stated and stated not in names) or not counts:
        required = "a vocabulary that concepts of occurrences have is required"
        found = f"{wanted.vocabulary or 'none'}; they have {', '.join(sorted(counts)) or 'none'}"
        raise InputError(required, found=found, where=where)
    if stated or len(counts) == 1:
        return names[stated] if stated else next(iter(counts))
    required, said = "it must be stated which vocabulary is meant", "labels are of {}"
    raise which(required, counts, nodes, lambda one: f"--vocabulary {one}", where, said)


def _side(known: pl.DataFrame, vocabulary: str, wanted: Wanted, where: object) -> str:
    """Which concepts are the labels: the side that is named, or that has the vocabulary."""
    if wanted.columns.label and (stated := wanted.columns.label[0]) in _SIDES:
        return stated
    own = {side: pl.col(f"{side}_vocabulary") == vocabulary for side in _SIDES}
    rows = {side: int(known.filter(fits)["rows"].sum()) for side, fits in own.items()}
    having = [side for side in _SIDES if rows[side]]
    unlike = pl.col("standard_id").ne_missing(pl.col("source_id"))
    if len(having) > 1 and known.filter(unlike, pl.any_horizontal(*own.values())).height:
        offers = [Reading(_SIDES[s], "", rows[s], f"--label {s}") for s in having]
        required = f"it must be stated which concepts of {vocabulary} are labels"
        raise asked(required, offers, where)
    return having[0]


def _labelled(rows: pl.DataFrame, side: str, vocabulary: str) -> pl.DataFrame:
    """Rows with what a label of theirs is: what no concept stands for is refused with its own
    code."""
    own = (pl.col(f"{side}_vocabulary") == vocabulary).fill_null(False)
    unmapped = pl.col(f"{side}_id").fill_null("0") == "0"
    lacking = unmapped | pl.col(f"{side}_vocabulary").is_null()
    code = pl.when(own | ~unmapped).then(f"{side}_code").otherwise("source_value")
    label = code.fill_null(pl.col(f"{side}_id"))
    by_day = pl.concat_str("person_id", "date", separator=" ")
    return rows.with_columns(
        instance=pl.coalesce(_VISIT, by_day),
        group="person_id",
        day=by_day,
        label=label,
        table=pl.when(own).then(pl.lit(code_set(vocabulary), pl.String)),
        refused=pl.when(~own & lacking)
        .then(pl.lit("unknown_code"))
        .when(~own)
        .then(pl.lit("left_out")),
        **{one: label if one == side else pl.lit(None, pl.String) for one in _SIDES},
    )


def _told(known: pl.DataFrame, side: str, vocabulary: str, wanted: Wanted) -> Iterator[Reading]:
    others = pl.col(f"{side}_vocabulary").is_in([vocabulary, "None"]).not_()
    others &= pl.col(f"{side}_id").fill_null("0") != "0"
    if left := int(known.filter(others)["rows"].sum()):
        said, option = "concepts of other vocabularies are no labels", "another --vocabulary"
        yield Reading(said, f"labels are those of {vocabulary}", left, option)
    if (loose := int(known["loose"].sum())) and not wanted.columns.id:
        said, why = "codes of a person on one day are an instance", "they name no visit"
        yield Reading(said, why, loose, f"--id {_VISIT}")
