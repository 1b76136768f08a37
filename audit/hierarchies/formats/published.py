"""Hierarchies as their publishers write them: CAML, AudioSet, Open Images, COCO, OMOP."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from audit.base.dag import EDGE_SCHEMA, NODE_SCHEMA
from audit.base.errors import FormatError, HierarchyError, InputError, SchemaError, first_cases
from audit.base.files import files_in, read_json, read_lines
from audit.base.readings import Reading, as_typed, asked
from audit.base.tables import open_table
from audit.hierarchies.coding import Entry
from audit.hierarchies.formats.format import (
    EdgeRow,
    HierarchyFormat,
    Shape,
    begins,
    head_text,
    hierarchy_of,
    items,
    shaped,
    text,
)
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import ICD9Coding, nearest_prefix


def _read_audioset(path: Path, _: Shape) -> Hierarchy:
    """Read ``id, name, child_ids`` of each node, and ``restrictions``: may it be a label?"""
    held = shaped(read_json(path), items, "a list of nodes is required")
    nodes = [shaped(one, _audioset_node, _AUDIOSET) for one in held]
    edges = [(child, one.node) for one, below in nodes for child in below]
    return hierarchy_of(path, [one for one, _ in nodes], edges, declared="once")


_AUDIOSET = (
    "a node needs a text 'id', and may have a text 'name' and lists of texts 'child_ids' and "
    "'restrictions'"
)


def _audioset_node(one: Any) -> tuple[Entry, list[str]]:
    """Id, title and ``assignable`` (unless abstract) of a node of AudioSet; ids of its children."""
    below, own = (
        [text(part) for part in items(one.get(key) or [])] for key in ("child_ids", "restrictions")
    )
    title = text(one["name"]) if one.get("name") else None
    return Entry(text(one["id"]), title, assignable="abstract" not in own), below


AUDIOSET = HierarchyFormat(
    "audioset", "a JSON list of nodes with id, name, child_ids",
    begins(r'\[.*"child_ids"'), _read_audioset,
)  # fmt: skip


def _read_open_images(path: Path, shape: Shape) -> Hierarchy:
    """Read the classes by what ``Subcategory`` holds, and by ``Part`` if it is among relations."""
    keys, parts = ["Subcategory", *shape.relations], 0
    edges, nodes = dict[EdgeRow, None](), list[Entry]()
    waiting: list[tuple[Any, str | None]] = [(read_json(path), None)]
    required = "objects with a text 'LabelName', and lists of such, are required"
    while waiting:
        one, above = waiting.pop()
        name = shaped(one, lambda one: text(one["LabelName"]), required)
        nodes.append(Entry(name))
        edges |= {} if above is None else {(name, above): None}
        parts += len(one.get("Part", ())) * ("Part" not in keys)
        waiting += [(below, name) for key in keys for below in items(one.get(key) or [])]
    decision, why = "parts of a class are not below it", "a part is no kind of it"
    told = Reading(decision, why, parts, "--relations Part", "classes")
    return hierarchy_of(path, nodes, edges, readings=[told])


OPEN_IMAGES = HierarchyFormat(
    "openimages", "the JSON of classes of Open Images: LabelName and Subcategory",
    begins(r'\{\s*"LabelName"'), _read_open_images, frozenset({"relations"}),
)  # fmt: skip


def _read_coco(path: Path, _: Shape) -> Hierarchy:
    """Read the categories by name, each below its ``supercategory``, unless that is ``none``."""
    required = "'categories', a list of objects with a text 'name', is required"
    pairs = shaped(read_json(path), lambda held: [*map(_category, held["categories"])], required)
    if not any(above for _, above in pairs):
        raise SchemaError(
            "categories with a 'supercategory' are required", found="none that has it"
        )
    parents = {name: [above] * (above not in ("", "none")) for name, above in pairs}
    return hierarchy_of(path, [Entry(name, parents=above) for name, above in parents.items()])


def _category(one: Any) -> tuple[str, str]:
    """The name of a category of COCO, and that of its supercategory; empty if it has none."""
    if "kingdom" in one:
        raise FormatError(
            "a file of a kind that is read here is required",
            found="categories of iNaturalist, with their ranks",
            hint="the page of recipes in the documentation makes a table of edges of them",
        )
    above = one.get("supercategory")
    return text(one["name"]), text(above) if above else ""


COCO = HierarchyFormat(
    "coco", "the categories of a file of COCO, below their supercategories",
    begins(r'\{.*?"(images|categories|annotations)"\s*:\s*\['), _read_coco,
)  # fmt: skip


ROOT = "@"
"""Id of the root in such a file."""
_BOUND = r"([VE]?)([0-9]{2,3})(?:\.([0-9]{1,2}))?"
_SPAN = re.compile(f"{_BOUND}(?:-{_BOUND})?")
_LINE = re.compile(rf"(?:@|{_SPAN.pattern})\t.*")
_SNIFFED_LINES = 20


class Span(NamedTuple):
    """A range of codes such as ``001-139.99``, or one code, with both bounds in hundredths.

    It holds codes of its family alone: of its letter, and of as many digits before the dot.
    """

    node: str
    family: tuple[str, int]
    low: int
    high: int


@dataclass(frozen=True)
class CamlCoding(ICD9Coding):
    """ICD-9-CM codes that are added under their nearest prefix, else under the narrowest range."""

    name: str = "caml-icd9/1"
    reason_without_place: str = "no_place"
    ranges: tuple[Span, ...] = ()

    def parent_of(self, code: str, nodes: Container[str]) -> str | None:
        """The nearest prefix of a code that is a node, else the narrowest range around it."""
        return nearest_prefix(code, nodes) or self.around(code)

    def around(self, node: str) -> str | None:
        """The narrowest range around a code or a range, the first of equals; None if none is."""
        if (own := _span(node)) is None:
            return None
        width = own.high - own.low if "-" in node else -1
        alike = (one for one in self.ranges if one.family == own.family)
        holding = (one for one in alike if one.low <= own.low and own.high <= one.high)
        wider = [one for one in holding if one.high - one.low > width]
        return min(wider, key=lambda one: one.high - one.low).node if wider else None


def _span(node: str) -> Span | None:
    found = _SPAN.fullmatch(node)
    if found is None:
        return None
    letter, whole, decimals, *upper = found.groups()
    last, high, high_decimals = upper if upper[1] else (letter, whole, decimals)
    low_at, high_at = (
        int(one) * 100 + int((part or "0").ljust(2, "0"))
        for one, part in ((whole, decimals), (high, high_decimals))
    )
    alike = (letter, len(whole)) == (last, len(high)) and low_at <= high_at
    return Span(node, (letter, len(whole)), low_at, high_at) if alike else None


def _read_caml(path: Path, _: Shape) -> Hierarchy:
    lines = dict[str, tuple[int, str]]()
    for number, line in read_lines(path):
        node, tab, title = line.partition("\t")
        if not tab or not node.strip() or node.strip() in lines:
            required = "each line must be a code of its own, a tab and a title"
            raise SchemaError(required, found=repr(line[:60]), where=f"{path}:{number}")
        lines[node.strip()] = number, title.strip()
    ranges = {node: found for node in lines if "-" in node and (found := _span(node))}
    coding = CamlCoding(ranges=tuple(ranges.values()))
    parents = {
        node: coding.around(node) or ROOT if node in ranges else coding.parent_of(node, lines)
        for node in lines
        if node != ROOT
    }
    if unplaced := [node for node, parent in parents.items() if parent is None]:
        raise HierarchyError(
            "each code needs a prefix or a range of the file that holds it",
            found=f"{first_cases(unplaced)} with neither",
            where=f"{path}:{lines[unplaced[0]][0]}",
            hint="add the range, or remove the line",
        )
    inner = {ROOT, *ranges}
    nodes = [(node, title, False if node in inner else None) for node, (_, title) in lines.items()]
    return Hierarchy.build(
        pl.DataFrame([*parents.items()], EDGE_SCHEMA, orient="row"),
        pl.DataFrame(nodes, NODE_SCHEMA, orient="row"),
        name=path.name,
        labelled_ancestors="fault",
        coding=coding,
    )


def _matches_caml(path: Path, head: bytes) -> bool:
    lines = [line for line in head_text(head).splitlines() if line.strip()][:_SNIFFED_LINES]
    alike = bool(lines) and all(_LINE.fullmatch(line) for line in lines)
    return alike or path.name.lower().startswith("icd9_descriptions")


CAML = HierarchyFormat(
    "caml", "ICD9_descriptions of CAML: a code, a tab and a title per line, '@' the root",
    _matches_caml, _read_caml,
)  # fmt: skip


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
    """The files of OMOP's tables in a folder, by the tables' names; {} if it is a file."""
    files = files_in(folder) if folder.is_dir() else []
    return {name: one for one in files if (name := one.name.lower().partition(".")[0]) in _TABLES}


def is_omop(path: Path, head: bytes = b"") -> bool:
    """Whether a folder has tables of concepts or occurrences; what lacks is told in reading."""
    return bool(tables_in(path))


def read_omop(place: str | Path, shape: Shape) -> Hierarchy:
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
    """Some columns of a table of OMOP as text; InputError without it, SchemaError without one."""
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
    """The vocabulary that is stated, or the only one with "Is a" within it; asked of several."""
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
    is_omop, read_omop, frozenset({"vocabulary"}),
)  # fmt: skip
