"""Codes of the data of hospitals: concepts of OMOP CDM, codes of MEDS, a CodeSystem of FHIR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.columnar import parquet_schema
from audit.base.errors import HierarchyError, InputError, SchemaError, first_cases
from audit.base.files import files_in, first_bytes, read_json, read_table
from audit.base.readings import Reading, asked
from audit.hierarchies.coding import Obsolete, retired_ids
from audit.hierarchies.formats.format import (
    HierarchyFormat,
    Shape,
    head_text,
    hierarchy_of,
    titles_of,
)
from audit.hierarchies.formats.tables import columns_of, is_parquet
from audit.hierarchies.hierarchy import Hierarchy

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
        """Some columns of a table as text, blank ones as null; ``further`` where it has them."""
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


def is_omop(path: Path, head: bytes = b"") -> bool:
    """Whether a folder has the tables of concepts and of their relationships."""
    return path.is_dir() and {CODES, RELATIONSHIP} <= Tables(path).files.keys()


def _read_omop(path: Path, shape: Shape) -> Hierarchy:
    """Read the valid concepts of a vocabulary, by their codes, below those that "Is a" names.

    Concepts with an ``invalid_reason`` are no nodes; "Concept replaced by" says what took their
    place. Headings, by the class of a concept, are no labels.
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


OMOP = HierarchyFormat(
    "omop",
    "a folder of OMOP CDM with concept and concept_relationship",
    is_omop,
    _read_omop,
    frozenset({"vocabulary"}),
)


_COLUMNS = ["code", "description", "parent_codes"]


def is_codes(path: Path, head: bytes) -> bool:
    """Whether it is Parquet with the three columns of MEDS."""
    return is_parquet(path) and {*_COLUMNS} <= {*columns_of(path, head)}


def _read_codes(path: Path, shape: Shape) -> Hierarchy:
    """Read the codes that have parents, or are some; others, such as laboratory tests, are none."""
    table = read_table(path)
    kinds = [pl.String, pl.String, pl.List(pl.String)]
    if [table.schema.get(name) for name in _COLUMNS] != kinds:
        found = first_cases(f"{name}: {dtype}" for name, dtype in table.schema.items())
        required = "columns of text code and description, and of lists, parent_codes, are required"
        raise SchemaError(required, found=found, where=path)
    edges = table.select(_COLUMNS).explode("parent_codes").drop_nulls(["code", "parent_codes"])
    if edges.is_empty():
        raise HierarchyError(
            "codes with parent_codes are required",
            found="none",
            where=path,
            hint="name another hierarchy, such as --hierarchy icd9cm",
        )
    above = dict.fromkeys(edges["parent_codes"])
    own = {*edges["code"], *above}
    said = table.filter(pl.col("code").is_in([*own])).select("code", "description")
    listed = {*said["code"]}
    titles = titles_of([*said.iter_rows(), *((code, None) for code in above)])
    return hierarchy_of(
        path,
        edges.select("code", "parent_codes").iter_rows(),
        [(code, title, code in listed) for code, title in titles.items()],
        dangling=shape.dangling,
    )


MEDS = HierarchyFormat(
    "meds",
    "Parquet with the columns code, description, parent_codes, as metadata/codes.parquet of MEDS",
    is_codes,
    _read_codes,
)


_WHOLE = {"complete", None}
_FLAGS = {"notSelectable": "abstract", "abstract": "abstract", "inactive": "gone"}
_GONE = {"retired", "inactive", "deprecated"}
"""Values of ``status`` of what is no longer in use."""


def _is_code_system(path: Path, head: bytes) -> bool:
    """Whether it is an object whose first type of resource is CodeSystem."""
    text = head_text(head)
    said = text.partition('"resourceType"')[2].lstrip(" \r\n\t:")
    return text.startswith("{") and said.startswith('"CodeSystem"')


def _read_code_system(path: Path, shape: Shape) -> Hierarchy:
    """Read the concepts; each may be a label unless it is not selectable.

    A concept is below the one that it lies within, and below those that its properties ``parent``
    name, or whose properties ``child`` name it. What is inactive or retired is no node.
    """
    stated = read_json(path)
    content = stated.get("content")
    places = list(_entries(stated, None))
    if not places:
        raise SchemaError(
            "a CodeSystem with its concepts is required",
            found=f"none; its content is {content!r}",
            where=path,
            hint="get the concepts from a terminology server, by $expand or as a package",
        )
    said = {code: _properties(one) for code, _, one in places}
    gone = {code for code, own in said.items() if "gone" in own}
    titles = titles_of((code, one.get("display")) for code, _, one in places if code not in gone)
    edges = [(code, above) for code, above, _ in places if above is not None]
    for code, own in said.items():
        edges += [(code, above) for above in own.get("parent", ())]
        edges += [(below, code) for below in own.get("child", ())]
    later = [Obsolete(code, tuple(said[code].get("replacedBy", ()))) for code in sorted(gone)]
    why, option = f"its content is {content!r}", "the complete code system"
    part = Reading("the code system is not complete", why, len(places), option, "concepts")
    return hierarchy_of(
        path,
        [edge for edge in dict.fromkeys(edges) if edge[0] not in gone],
        [(code, title, "abstract" not in said[code]) for code, title in titles.items()],
        coding=retired_ids(titles, later),
        dangling=shape.dangling,
        readings=[] if content in _WHOLE else [part],
    )


CODE_SYSTEM = HierarchyFormat(
    "codesystem", "a CodeSystem of FHIR R4, as JSON", _is_code_system, _read_code_system
)


def _entries(
    held: Mapping[str, Any], above: str | None
) -> Iterator[tuple[str, str | None, Mapping[str, Any]]]:
    """Code, code above, and content of each concept within another, or within the resource."""
    some = held.get("concept", [])
    for one in some if isinstance(some, list) else [None]:
        plain = one if isinstance(one, dict) else {}
        code = plain.get("code")
        if not isinstance(code, str) or not isinstance(plain.get("display"), str | None):
            required = "'concept' must be a list of objects with a text 'code', and 'display'"
            raise SchemaError(required, found=str(some)[:80])
        yield code, above, plain
        yield from _entries(plain, code)


def _properties(entry: Mapping[str, Any]) -> dict[str, list[str]]:
    """Codes of other concepts by the property that names them, and ``abstract`` and ``gone``."""
    found = dict[str, list[str]]()
    for one in entry.get("property") or []:
        name = one.get("code") if isinstance(one, dict) else None
        if not isinstance(name, str):
            required = "a property of a concept must be an object with a text 'code'"
            raise SchemaError(required, found=str(one)[:80])
        value = next((one[key] for key in one if key.startswith("value")), None)
        if value is True and name in _FLAGS:
            found[_FLAGS[name]] = []
        elif name == "status" and value in _GONE:
            found["gone"] = []
        elif name in ("parent", "child", "replacedBy") and isinstance(value, str):
            found.setdefault(name, []).append(value)
    return found
