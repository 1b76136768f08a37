"""OMOP CDM 5.3 and 5.4: the tables of a folder, and a vocabulary in them as a hierarchy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import polars as pl

from audit.base.columnar import parquet_schema
from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import files_in, first_bytes
from audit.base.readings import Reading, asked
from audit.hierarchies.formats.format import HierarchyFormat, Shape, hierarchy_of, titles_of
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.retired import Obsolete, retired_ids

CODES, RELATIONSHIP = "concept", "concept_relationship"
_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".parquet")
_IS_A, _REPLACED = "Is a", "Concept replaced by"
_OF_CODES = (
    "concept_id", "concept_name", "concept_code", "vocabulary_id", "concept_class_id",
    "invalid_reason",
)  # fmt: skip
_RELATIONSHIP = ("concept_id_1", "concept_id_2", "relationship_id", "invalid_reason")
_HEADINGS = "nonbill|hierarchy|chapter"
"""What the class of a concept says that is no code by itself."""


class Tables:
    """The tables of a folder, by their names in the CDM; a database may give the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def files(self) -> dict[str, Path]:
        """The file of each table."""
        named = [(one.name.lower(), one) for one in files_in(self.folder) if one.is_file()]
        ends = [(name.partition("."), one) for name, one in named]
        return {stem: one for (stem, dot, end), one in ends if dot + end in _ENDINGS}

    def scan(self, name: str, columns: Sequence[str], further: Sequence[str] = ()) -> pl.LazyFrame:
        """Some columns of a table as text, blank ones as null; ``further`` where it has them.

        Raises:
            InputError: If there is no such table.
            SchemaError: If it lacks a column.
        """
        file = self.files.get(name)
        if file is None:
            raise InputError(
                f"the table {name} of OMOP is required",
                found=f"the files {first_cases(one.name for one in files_in(self.folder))}",
                where=self.folder,
                hint="the vocabularies are downloaded from Athena as CONCEPT.csv and others",
            )
        if file.suffix == ".parquet":
            parquet_schema(file)
            frame = pl.scan_parquet(file)
        else:
            head = first_bytes(file).decode("utf-8-sig", "replace").split("\n")[0]
            sign = max("\t,;|", key=head.count)
            quote = None if sign == "\t" else '"'  # Athena writes quotes in names as they are
            if not head.strip():
                raise InputError("a table with a header is required", found="none", where=file)
            frame = pl.scan_csv(file, separator=sign, quote_char=quote, infer_schema=False)
        own = {one.strip('" \r').lower(): one for one in frame.collect_schema().names()}
        if lacking := [one for one in columns if one not in own]:
            required = f"the columns {first_cases(columns)} are required"
            raise SchemaError(required, found=f"no {first_cases(lacking)}", where=file)
        names = [*columns, *(one for one in further if one in own)]
        text = (pl.col(own[one]).cast(pl.String).str.strip_chars().alias(one) for one in names)
        return frame.select(text).with_columns(pl.when(pl.all() != "").then(pl.all()).name.keep())

    def collected(self, frame: pl.LazyFrame) -> pl.DataFrame:
        """The rows; raises InputError if a file is damaged."""
        try:
            return frame.collect(engine="streaming")
        except (pl.exceptions.PolarsError, OSError) as error:
            required = "tables of OMOP that can be read are required"
            found = str(error).split("\n")[0]
            raise InputError(required, found=found, where=self.folder) from None


def matches(path: Path, head: bytes = b"") -> bool:
    """Whether a folder has the tables of concepts and of their relationships."""
    return path.is_dir() and {CODES, RELATIONSHIP} <= Tables(path).files.keys()


def read(path: Path, shape: Shape) -> Hierarchy:
    """Read the valid concepts of a vocabulary, by their codes, below those that "Is a" names.

    Concepts with an ``invalid_reason`` are no nodes; "Concept replaced by" says what took their
    place. Headings, by the class of a concept, are no labels.

    Raises:
        InputError: If it must be stated which vocabulary, or none has "Is a".
        HierarchyError: On a cycle.
    """
    tables = Tables(path)
    relations = tables.scan(RELATIONSHIP, _RELATIONSHIP).filter(
        pl.col("relationship_id").is_in([_IS_A, _REPLACED]), pl.col("invalid_reason").is_null()
    )
    own = tables.scan(CODES, _OF_CODES)
    names = own.select("concept_id", "concept_code", "vocabulary_id")
    stated = pl.lit((shape.vocabulary or "").lower())
    mine = names.filter((pl.col("vocabulary_id").str.to_lowercase() == stated) | (stated == ""))
    below = relations.join(mine, left_on="concept_id_1", right_on="concept_id")
    both = below.join(names, left_on="concept_id_2", right_on="concept_id", suffix="_above")
    links = tables.collected(both)
    vocabulary = _vocabulary(links, shape.vocabulary, path)
    listed = tables.collected(own.filter(pl.col("vocabulary_id") == vocabulary))
    links = links.filter(pl.col("vocabulary_id") == vocabulary)
    inside = pl.col("vocabulary_id_above") == vocabulary
    ends = links.select("relationship_id", "concept_code", "concept_code_above", inside=inside)
    valid, gone = (
        listed.filter(pl.col("invalid_reason").is_null() == one) for one in (True, False)
    )
    heading = valid["concept_class_id"].fill_null("").str.to_lowercase().str.contains(_HEADINGS)
    titles = titles_of(valid.select("concept_code", "concept_name").iter_rows())
    headings = {*valid.filter(heading)["concept_code"]}
    edges = ends.filter("inside", relationship_id=_IS_A).select(
        "concept_code", "concept_code_above"
    )
    edges = edges.filter(pl.all_horizontal(pl.all().is_in([*titles]))).unique(maintain_order=True)
    later = dict[str, list[str]]()
    for code, new in (
        ends.filter("inside", relationship_id=_REPLACED)
        .select("concept_code", "concept_code_above")
        .iter_rows()
    ):
        later.setdefault(code, []).append(new)
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


def _vocabulary(links: pl.DataFrame, stated: str | None, path: Path) -> str:
    """The vocabulary that is stated, or the only one with "Is a" within it."""
    within = links.filter(
        pl.col("vocabulary_id") == pl.col("vocabulary_id_above"), relationship_id=_IS_A
    )
    counts = dict(within["vocabulary_id"].value_counts(sort=True).iter_rows())
    names = {str(name).lower(): str(name) for name in counts}
    if not counts or (stated and stated.lower() not in names):
        found = f"it in {first_cases(counts)}" if counts else "it nowhere"
        of = f" of {stated}" if stated else ""
        raise InputError(
            f'concept_relationship with "Is a" between valid concepts{of} is required',
            found=found, where=path, hint="name another hierarchy, such as --hierarchy icd9cm",
        )  # fmt: skip
    if stated:
        return names[stated.lower()]
    if len(counts) > 1:
        offers = [
            Reading(f"{name} is", "", n, f"--vocabulary {name}", "relationships")
            for name, n in [*counts.items()][:4]
        ]
        raise asked("it must be stated which vocabulary is the hierarchy", offers, path)
    return next(iter(names.values()))


FORMAT = HierarchyFormat(
    "omop",
    "a folder of OMOP CDM with concept and concept_relationship",
    matches,
    read,
    frozenset({"vocabulary"}),
)
