"""A vocabulary of OMOP CDM as a hierarchy."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.base.databases import opened
from audit.base.errors import InputError, first_cases
from audit.base.readings import Reading, asked
from audit.hierarchies.coding import Obsolete, retired_ids
from audit.hierarchies.formats.format import HierarchyFormat, Shape, hierarchy_of, titles_of
from audit.hierarchies.formats.omop_tables import CODES, RELATIONSHIP, Tables, TablesOfBase
from audit.hierarchies.hierarchy import Hierarchy

_IS_A, _REPLACED = "Is a", "Concept replaced by"
_OF_CODES = (
    "concept_id", "concept_name", "concept_code", "vocabulary_id", "concept_class_id",
    "invalid_reason",
)  # fmt: skip
_RELATIONSHIP = ("concept_id_1", "concept_id_2", "relationship_id", "invalid_reason")
_HEADINGS = "nonbill|hierarchy|chapter"
"""What the class of a concept says that is no code by itself."""


def is_omop(path: Path, head: bytes = b"") -> bool:
    """Whether a folder has tables of concepts or occurrences; what lacks is told in reading."""
    some = {CODES, RELATIONSHIP, "condition_occurrence", "procedure_occurrence"}
    return path.is_dir() and not some.isdisjoint(Tables(path).names)


def of_base(address: str, shape: Shape) -> Hierarchy:
    """Read a vocabulary of the database of an address."""
    with opened(address) as found:
        hierarchy = _of_tables(TablesOfBase(found), shape)
        if found.own:
            found.connection.close()
    return hierarchy


def _of_tables(tables: Tables, shape: Shape) -> Hierarchy:
    """Read the valid concepts of a vocabulary, by their codes, below those that "Is a" names.

    Concepts with an ``invalid_reason`` are no nodes; "Concept replaced by" says what took their
    place. Headings, by the class of a concept, are no labels.
    """
    stated = (shape.vocabulary or "").lower()
    mine = pl.col("vocabulary_id").str.to_lowercase() == stated if stated else True
    own = tables.read(CODES, _OF_CODES, keep=mine)
    kept = pl.col("relationship_id").is_in([_IS_A, _REPLACED]) & pl.col("invalid_reason").is_null()
    within = pl.col("concept_id_1").is_in(own["concept_id"].implode())
    relations = tables.read(RELATIONSHIP, _RELATIONSHIP, keep=kept & within)
    names = own.select("concept_id", "concept_code", "vocabulary_id")
    above = pl.col("concept_id").is_in(relations["concept_id_2"].unique().implode())
    known = tables.read(CODES, names.columns, keep=above) if stated else names
    links = relations.join(names, left_on="concept_id_1", right_on="concept_id")
    links = links.join(known, left_on="concept_id_2", right_on="concept_id", suffix="_above")
    vocabulary = _vocabulary(links, shape.vocabulary, tables)
    listed = own.filter(pl.col("vocabulary_id") == vocabulary)
    links = links.filter(pl.col("vocabulary_id") == vocabulary)
    inside = pl.col("vocabulary_id_above") == vocabulary
    ends = links.select("relationship_id", "concept_code", "concept_code_above", inside=inside)
    in_use = pl.col("invalid_reason").is_null()
    valid, gone = listed.filter(in_use), listed.filter(~in_use)
    heading = pl.col("concept_class_id").str.to_lowercase().str.contains(_HEADINGS)
    headings = {*valid.filter(heading)["concept_code"]}
    titles = titles_of(valid.select("concept_code", "concept_name").iter_rows())
    edges = ends.filter("inside", relationship_id=_IS_A).select(
        "concept_code", "concept_code_above"
    )
    edges = edges.filter(pl.all_horizontal(pl.all().is_in([*titles]))).unique(maintain_order=True)
    replaced = ends.filter("inside", relationship_id=_REPLACED).group_by("concept_code")
    later = dict(replaced.agg("concept_code_above").iter_rows())
    codes = [one for one in gone["concept_code"].unique(maintain_order=True) if one not in titles]
    others = len(ends.filter(~pl.col("inside"), relationship_id=_IS_A))
    told = Reading(
        f"concepts of other vocabularies are not above those of {vocabulary}",
        "a hierarchy is of one vocabulary", others, "another --vocabulary", "relationships",
    )  # fmt: skip
    return hierarchy_of(
        Path(vocabulary),
        edges.iter_rows(),
        [(code, title, code not in headings) for code, title in titles.items()],
        coding=retired_ids(titles, [Obsolete(one, tuple(later.get(one, ()))) for one in codes]),
        readings=[told] if others else [],
    )


def _vocabulary(links: pl.DataFrame, stated: str | None, where: object) -> str:
    """The vocabulary that is stated, or the only one with "Is a" within it."""
    within = links.filter(
        pl.col("vocabulary_id") == pl.col("vocabulary_id_above"), relationship_id=_IS_A
    )
    counts = dict(within["vocabulary_id"].value_counts(sort=True).iter_rows())
    names = {str(name).lower(): str(name) for name in counts}
    if not counts or (stated and stated.lower() not in names):
        found = f'"Is a" only in {first_cases(counts)}' if counts else 'no "Is a"'
        of = f" of {stated}" if stated else ""
        raise InputError(
            f'concept_relationship with "Is a" between valid concepts{of} is required',
            found=found, where=where, hint="name another hierarchy, such as --hierarchy icd9cm",
        )  # fmt: skip
    if stated:
        return names[stated.lower()]
    if len(counts) > 1:
        offers = [
            Reading(f"{name} is the hierarchy", "", n, f"--vocabulary {name}", "relationships")
            for name, n in [*counts.items()][:4]
        ]
        raise asked("it must be stated which vocabulary is meant", offers, where)
    return next(iter(names.values()))


OMOP = HierarchyFormat(
    "omop",
    "a folder of OMOP CDM with concept and concept_relationship",
    is_omop,
    lambda path, shape: _of_tables(Tables(path), shape),
    frozenset({"vocabulary"}),
)
