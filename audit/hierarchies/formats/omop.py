"""A vocabulary of OMOP CDM as a hierarchy, from a folder of tables or a database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import files_in
from audit.base.readings import Reading, as_typed, asked
from audit.base.tables import open_table
from audit.hierarchies.coding import Entry
from audit.hierarchies.formats.format import HierarchyFormat, Shape, hierarchy_of
from audit.hierarchies.hierarchy import Hierarchy

CODES, RELATIONSHIP = "concept", "concept_relationship"
_TABLES = {CODES, RELATIONSHIP, "condition_occurrence", "procedure_occurrence"}
_IS_A, _REPLACED = "Is a", "Concept replaced by"
_CODES = (
    "concept_id", "concept_name", "concept_code", "vocabulary_id", "concept_class_id",
    "invalid_reason",
)  # fmt: skip
_RELATIONSHIP = ("concept_id_1", "concept_id_2", "relationship_id", "invalid_reason")
_HEADINGS = "nonbill|hierarchy|chapter"
"""What the class of a concept says that is no code by itself."""


def tables_in(folder: Path) -> dict[str, Path]:
    """The files of tables of OMOP in a folder, by the names of these; of a file none."""
    files = files_in(folder) if folder.is_dir() else []
    return {name: one for one in files if (name := one.name.lower().partition(".")[0]) in _TABLES}


def is_omop(path: Path, head: bytes = b"") -> bool:
    """Whether a folder has tables of concepts or occurrences; what lacks is told in reading."""
    return bool(tables_in(path))


def read(place: str | Path, shape: Shape) -> Hierarchy:
    """Read the valid concepts of a vocabulary, by their codes, below those that "Is a" names.

    Concepts with an ``invalid_reason`` are no nodes; "Concept replaced by" says what took their
    place. Headings, by the class of a concept, are no labels. ``place`` is a folder, or the address
    of a database as a text.
    """
    stated = (shape.vocabulary or "").lower()
    codes = _table(place, CODES, _CODES)
    own = codes.filter(pl.col("vocabulary_id").str.to_lowercase() == stated) if stated else codes
    names = codes.select("concept_id", "concept_code", "vocabulary_id")
    links = _table(place, RELATIONSHIP, _RELATIONSHIP).filter(
        pl.col("relationship_id").is_in([_IS_A, _REPLACED]) & pl.col("invalid_reason").is_null()
    )
    mine = names.join(own.select("concept_id"), on="concept_id", how="semi")
    links = links.join(mine, left_on="concept_id_1", right_on="concept_id")
    links = links.join(names, left_on="concept_id_2", right_on="concept_id", suffix="_above")
    vocabulary = _vocabulary(links, shape.vocabulary)
    inside = pl.col("vocabulary_id_above") == vocabulary
    links = links.filter(pl.col("vocabulary_id") == vocabulary)
    ends = links.filter(inside).select("relationship_id", "concept_code", "concept_code_above")
    others = len(links.filter(~inside, relationship_id=_IS_A))
    listed = own.filter(pl.col("vocabulary_id") == vocabulary)
    valid = listed.filter(pl.col("invalid_reason").is_null())
    gone = listed.join(valid, on="concept_code", how="anti")["concept_code"]
    replaced = ends.filter(relationship_id=_REPLACED).group_by("concept_code")
    later = dict(replaced.agg("concept_code_above").iter_rows())
    label = ~pl.col("concept_class_id").str.to_lowercase().str.contains(_HEADINGS).fill_null(False)
    entries = [
        Entry(code, title, assignable=may)
        for code, title, may in valid.select("concept_code", "concept_name", label).iter_rows()
    ]
    entries += [
        Entry(code, obsolete=True, replaced_by=later.get(code, ()))
        for code in gone.unique(maintain_order=True)
    ]
    edges = ends.filter(relationship_id=_IS_A).select("concept_code", "concept_code_above")
    known = pl.all_horizontal(pl.all().is_in(valid["concept_code"].implode()))
    decision = f"concepts of other vocabularies are not above those of {vocabulary}"
    why = "a hierarchy is of one vocabulary"
    told = Reading(decision, why, others, "another --vocabulary", "relationships")
    rows = edges.filter(known).unique(maintain_order=True).iter_rows()
    return hierarchy_of(Path(vocabulary), entries, rows, declared="anywhere", readings=[told])


def _table(place: str | Path, name: str, columns: Sequence[str]) -> pl.DataFrame:
    """Some columns of a table as text."""
    if isinstance(place, Path):
        files = tables_in(place)
        if name not in files:
            raise InputError(
                f"the table {name} of OMOP is required",
                found=f"the files {first_cases(one.name for one in files.values())}",
                hint="the vocabularies are downloaded from Athena as CONCEPT.csv and others",
            )
        table = open_table(files[name])
    else:
        table = open_table(place, table=name)
    found = {one: table.column(one) for one in columns}
    if lacking := [one for one, own in found.items() if own is None]:
        required = f"the columns {first_cases(columns)} are required"
        raise SchemaError(required, found=f"no {first_cases(lacking)}", where=table.name)
    frame = table.frame([own for own in found.values() if own])
    return frame.select(
        pl.col(own).cast(pl.String).str.strip_chars().replace("", None).alias(one)
        for one, own in found.items()
        if own
    )


def _vocabulary(links: pl.DataFrame, stated: str | None) -> str:
    """The vocabulary that is stated, or the only one with "Is a" within it."""
    within = links.filter(
        pl.col("vocabulary_id") == pl.col("vocabulary_id_above"), relationship_id=_IS_A
    )
    counts = dict(within["vocabulary_id"].value_counts(sort=True).iter_rows())
    names = {str(name).lower(): str(name) for name in counts}
    if not counts or (stated and stated.lower() not in names):
        raise InputError(
            f'concept_relationship with "Is a" between concepts of {stated or "a vocabulary"} is '
            "required",
            found=f'"Is a" only in {first_cases(counts)}' if counts else 'no "Is a"',
            hint="name another hierarchy, such as --hierarchy icd9cm",
        )
    if stated:
        return names[stated.lower()]
    if len(counts) > 1:
        offers = [
            Reading(
                f"{one} is the hierarchy", "", n, as_typed({"vocabulary": one}), "relationships"
            )
            for one, n in [*counts.items()][:4]
        ]
        raise asked("it must be stated which vocabulary is meant", offers)
    return next(iter(names.values()))


OMOP = HierarchyFormat(
    "omop", "a folder of OMOP CDM with concept and concept_relationship",
    is_omop, read, frozenset({"vocabulary"}),
)  # fmt: skip
