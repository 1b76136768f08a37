"""Facets of labels: the concept that a label has in each dimension, as told, or found in titles."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.schemas import schema
from audit.data.records import pick
from audit.data.sources import File
from audit.hierarchies.hierarchy import Hierarchy

FACETS = schema(("node dimension concept", pl.String))
"""Columns of a facet table; a node has at most one concept in a dimension."""

Kind: TypeAlias = Literal["crossed", "nested"]
"""Crossed dimensions vary freely; nested ones are ancestors at a depth of a hierarchy."""


@dataclass(frozen=True, eq=False)
class Facets:
    """The concepts of labels, dimension by dimension.

    Args:
        table: Columns `FACETS`, in the order of dimensions.
        kinds: Per dimension, in order, whether it is crossed with the others or nested in them.
        partial: Whether a label without any concept is left out and counted; else it is refused.
    """

    table: pl.DataFrame
    kinds: dict[str, Kind]
    partial: bool = False


def check_facets(facets: Facets, labels: Iterable[str]) -> None:
    """Refuse a facet table that does not describe the labels.

    Raises:
        SchemaError: If a value is missing, a node has two concepts in a dimension, a dimension has
            one concept, or a dimension has no kind.
        InputError: If labels have no concept and the table is not partial.
    """
    table = facets.table.select(list(FACETS))
    if table.null_count().sum_horizontal().item():
        raise SchemaError(
            "every row of a facet table must have a node, a dimension and a concept",
            found=f"{table.filter(pl.any_horizontal(pl.all().is_null())).height:,} rows without",
        )
    several = table.unique().filter(pl.struct("node", "dimension").is_duplicated())
    if len(several):
        cases = several.select(pl.format("{} in {}", "node", "dimension")).to_series().unique()
        raise SchemaError(
            "a node must have one concept in a dimension",
            found=f"several of {first_cases(cases.sort())}",
            hint="split the dimension in two, or keep the concept that matters",
        )
    _check_dimensions(facets, table)
    _check_labels(facets, table, labels)


def _check_dimensions(facets: Facets, table: pl.DataFrame) -> None:
    concepts = table.group_by("dimension", maintain_order=True).agg(pl.col("concept").n_unique())
    if set(concepts["dimension"]) != set(facets.kinds):
        raise SchemaError(
            "every dimension of a facet table must be crossed or nested",
            found=f"the dimensions {first_cases(concepts['dimension'])},"
            f" and kinds of {first_cases(facets.kinds)}",
        )
    if concepts.is_empty():
        raise SchemaError("a facet table must have a dimension", found="none")
    single = concepts.filter(pl.col("concept") < 2)["dimension"]
    if len(single):
        raise SchemaError(
            "a dimension must have at least two concepts that exclude each other",
            found=f"one concept in {first_cases(single)}",
            hint="leave the dimension out of the facet table",
        )


def _check_labels(facets: Facets, table: pl.DataFrame, labels: Iterable[str]) -> None:
    known = set(table["node"])
    missing = sorted({label for label in labels if label not in known})
    if missing and not facets.partial:
        raise InputError(
            "the facet table must describe every label of the representations",
            found=f"no row for {first_cases(missing)}",
            hint="add the labels to the table, or leave their instances out",
        )


def facets_from_depths(hierarchy: Hierarchy, depths: Sequence[int]) -> Facets:
    """Nested dimensions: the ancestors of nodes at depths of a hierarchy, the node itself included.

    A node with no ancestor at a depth, or with several, has no concept there. Depths at which
    there are no two concepts are left out.

    Args:
        hierarchy: The hierarchy of the labels.
        depths: Depths (longest path; the root has 0), each once.

    Raises:
        InputError: If no depth has two nodes above labels.
    """
    tables = [table for depth in depths if (table := _at_depth(hierarchy, depth)) is not None]
    if not tables:
        raise InputError(
            f"a depth of {hierarchy.name} with at least two nodes is required",
            found=f"none among {first_cases(depths)}; the deepest is {int(hierarchy.depth.max())}",
        )
    table = pl.concat(tables)
    kinds = dict.fromkeys(table["dimension"].unique(maintain_order=True).to_list(), _NESTED)
    return Facets(table, kinds, partial=True)


_NESTED: Kind = "nested"


def _at_depth(hierarchy: Hierarchy, depth: int) -> pl.DataFrame | None:
    above = hierarchy.closure.tocoo()
    there = hierarchy.depth[above.col] == depth
    rows, columns = above.row[there].tolist(), above.col[there].tolist()
    table = pl.DataFrame(
        {
            "node": [hierarchy.nodes[row] for row in rows],
            "dimension": [f"depth {depth}"] * len(rows),
            "concept": [hierarchy.nodes[column] for column in columns],
        },
        schema=FACETS,
    ).filter(pl.col("node").is_unique())
    return table.sort("node") if table["concept"].n_unique() > 1 else None


def join_facets(first: Facets, *others: Facets) -> Facets:
    """The dimensions of several tables, one after the other."""
    every = (first, *others)
    names = [name for one in every for name in one.kinds]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise SchemaError(
            "every dimension must have a name of its own",
            found=f"several are named {first_cases(repeated)}",
        )
    kinds: dict[str, Kind] = {}
    for one in every:
        kinds |= one.kinds
    return Facets(
        pl.concat([one.table.select(list(FACETS)) for one in every]),
        kinds,
        partial=all(one.partial for one in every),
    )


def read_facets(path: Path | str) -> Facets:
    """Read the columns ``node, dimension, concept``; all dimensions are taken as crossed.

    Rows that say the same count once; dimensions are in the order in which they first occur.

    Args:
        path: CSV, TSV or Parquet.

    Raises:
        InputError: If the file cannot be read or has no row.
        SchemaError: If a column is missing, a value is blank, or as
            `audit.concepts.facets.check_facets`.
    """
    source = File(Path(path))
    table = pick(source.table(), source, **{name: name for name in FACETS})
    if table.is_empty():
        raise SchemaError("a facet table with rows is required", found="none", where=source)
    _refuse_blank(table, source)
    distinct = table.unique(maintain_order=True)
    dimensions = distinct["dimension"].unique(maintain_order=True)
    place = pl.col("dimension").replace_strict(
        dimensions, pl.int_range(len(dimensions), eager=True)
    )
    ordered = distinct.sort(place, maintain_order=True)
    facets = Facets(ordered, dict.fromkeys(dimensions.to_list(), "crossed"))
    try:
        check_facets(facets, labels=())
    except SchemaError as error:
        raise SchemaError(
            error.required, found=error.found, where=source, hint=error.hint
        ) from None
    return facets


def _refuse_blank(table: pl.DataFrame, source: File) -> None:
    blank = table.select(pl.any_horizontal(pl.all().is_null())).to_series().arg_true()
    if len(blank):
        rows = [f"row {row + 1}" for row in blank.head(5)]
        raise SchemaError(
            "every row must have a node, a dimension and a concept",
            found=f"a blank in {first_cases(rows, len(blank))}",
            where=source,
            hint="leave out the row of a node that has no concept in a dimension",
        )


LEAST_FAMILIES = 2
"""Parents under which a word must tell siblings apart, and two words together, to recur."""
MOST_DIMENSIONS = 4
"""Dimensions that are kept: those of the most nodes."""
MOST_CANDIDATES = 32
"""Dimensions that are looked at: those of the most nodes."""
PARENT = "parent"
"""The dimension of the nodes right above the labels."""
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_EMPTY = frozenset(
    ("a", "an", "and", "as", "at", "by", "due", "during", "for", "from", "in", "into", "its", "of")
) | {"on", "or", "the", "to", "with"}

Family = tuple[str, str]
"""A parent and a child of it."""
Occurrences = frozenset[Family]
Dimension = dict[str, Occurrences]
"""Where each concept of a dimension occurs."""


def facets_from_titles(hierarchy: Hierarchy, labels: Collection[str] | None = None) -> Facets:
    """Find crossed dimensions in the titles of a hierarchy: site, cause, "unspecified".

    A word counts where it is in the title of a node and not of its parent, and a sibling lacks it;
    it recurs if that is so under several parents. Words that always come together are one concept.
    Concepts are of one dimension if no title has two of them and several parents have both below
    them, for every two; words of most parents are placed first. A concept without alternative
    stands against its absence. The parent is a dimension too. Dimensions that cross no other are
    left out: two cross where two concepts of the one each occur with the same two of the other.

    Args:
        hierarchy: The hierarchy with its titles.
        labels: The nodes whose titles are read; those of all nodes if None. Of a large hierarchy
            most words say nothing about the few labels of a model.

    Returns:
        A partial table; empty if nothing crosses.
    """
    concepts = _concepts(_own_words(hierarchy, frozenset(labels or hierarchy.nodes)))
    grouped = list(_dimensions(concepts))
    pairs = frozenset().union(*(where for one in grouped for where in one.values()))
    above: dict[str, set[str]] = defaultdict(set)
    for parent, child in pairs:
        above[child].add(parent)
    of_node = sorted(((_name(one), _by_node(one)) for one in grouped), key=lambda one: -len(one[1]))
    kept = _crossing({PARENT: _by_node(_parents(above)), **dict(of_node[:MOST_CANDIDATES])})
    largest = sorted(kept, key=lambda name: (name != PARENT, -len(kept[name]), name))
    chosen = set(largest[:MOST_DIMENSIONS])
    described = {node for name in chosen - {PARENT} for node in kept[name]}
    kept = _crossing(
        {
            name: {node: concept for node, concept in one.items() if node in described}
            for name, one in kept.items()
            if name in chosen
        }
    )
    rows = [
        (node, name, concept) for name, one in kept.items() for node, concept in sorted(one.items())
    ]
    kinds: dict[str, Kind] = dict.fromkeys(kept, "crossed")
    return Facets(pl.DataFrame(rows, schema=FACETS, orient="row"), kinds, partial=True)


def _own_words(hierarchy: Hierarchy, read: Collection[str]) -> dict[str, set[Family]]:
    """Per word, where it sets a node apart from its parent and a sibling, in order of titles."""
    words = [list(dict.fromkeys(_WORD.findall(title.lower()))) for title in hierarchy.titles]
    where: dict[str, set[Family]] = {}
    for parent in hierarchy.nodes:
        above = set(words[hierarchy.index(parent)]) | _EMPTY
        children = [child for child in hierarchy.children(parent) if child in read]
        own = {
            child: [word for word in words[hierarchy.index(child)] if word not in above]
            for child in children
        }
        for child in children:
            for word in own[child]:
                if any(word not in others for others in own.values()):
                    where.setdefault(word, set()).add((parent, child))
    return where


def _concepts(where: Mapping[str, set[Family]]) -> Dimension:
    """Words that recur, those that always come together joined."""
    together: dict[Occurrences, list[str]] = {}
    for word, families in where.items():
        if len({parent for parent, _ in families}) >= LEAST_FAMILIES:
            together.setdefault(frozenset(families), []).append(word)
    return {" ".join(words): families for families, words in together.items()}


def _dimensions(concepts: Dimension) -> Iterator[Dimension]:
    """Group concepts so that every two of a group exclude each other under several parents."""
    parents = {name: {parent for parent, _ in where} for name, where in concepts.items()}
    children = {name: {child for _, child in where} for name, where in concepts.items()}
    of_parent: dict[str, list[str]] = defaultdict(list)
    for name, above in parents.items():
        for parent in above:
            of_parent[parent].append(name)
    home: dict[str, list[str]] = {}
    for name in sorted(concepts, key=lambda one: (-len(parents[one]), one)):
        beside = Counter(other for parent in parents[name] for other in of_parent[parent])
        fit = {
            other
            for other, n in beside.items()
            if n >= LEAST_FAMILIES and children[name].isdisjoint(children[other])
        }
        groups = (home[other] for other in sorted(beside) if other in home)
        group = next((one for one in groups if fit.issuperset(one)), [])
        group.append(name)
        home[name] = group
    for group in {id(one): one for one in home.values()}.values():
        if len(group) > 1:
            yield {name: concepts[name] for name in sorted(group)}
        else:
            yield from _against_absence(group[0], concepts, of_parent)


def _against_absence(
    name: str, concepts: Dimension, of_parent: Mapping[str, list[str]]
) -> Iterator[Dimension]:
    """The concept, and the nodes beside it that have other recurring words."""
    own = {child for _, child in concepts[name]}
    beside = {
        one
        for parent in {parent for parent, _ in concepts[name]}
        for other in of_parent[parent]
        for one in concepts[other]
        if one[0] == parent and one[1] not in own
    }
    if beside:
        yield {name: concepts[name], f"not {name}": frozenset(beside)}


def _parents(above: Mapping[str, set[str]]) -> Dimension:
    families: dict[str, set[Family]] = defaultdict(set)
    for child, parents in above.items():
        for parent in parents:
            families[parent].add((parent, child))
    return {parent: frozenset(where) for parent, where in sorted(families.items())}


def _name(dimension: Dimension) -> str:
    first = list(dimension)[:3]
    return " | ".join(first) + (" | ..." if len(dimension) > len(first) else "")


def _by_node(dimension: Dimension) -> dict[str, str]:
    """The concept of each node that has one; nodes with several have none."""
    several: dict[str, set[str]] = defaultdict(set)
    for concept, where in dimension.items():
        for _, child in where:
            several[child].add(concept)
    return {node: min(found) for node, found in several.items() if len(found) == 1}


def _crossing(of_node: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    """The dimensions that cross another of those that are left."""
    kept = dict(of_node)
    while True:
        crossed = {
            name: one
            for name, one in kept.items()
            if any(_cross(one, other) for key, other in kept.items() if key != name)
        }
        if len(crossed) == len(kept):
            return crossed
        kept = crossed


def _cross(first: Mapping[str, str], second: Mapping[str, str]) -> bool:
    """Whether two concepts of the first each occur with the same two of the second."""
    if len(set(first.values())) < len(set(second.values())):
        first, second = second, first
    beside: dict[str, set[str]] = defaultdict(set)
    for node in first.keys() & second.keys():
        beside[first[node]].add(second[node])
    seen: set[tuple[str, str]] = set()
    for concept in sorted(beside):
        for pair in combinations(sorted(beside[concept]), 2):
            if pair in seen:
                return True
        seen.update(combinations(sorted(beside[concept]), 2))
    return False
