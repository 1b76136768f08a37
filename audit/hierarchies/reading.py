"""Built-in hierarchies and readers of hierarchy files, one format a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias

from audit.base.databases import is_database
from audit.base.errors import AuditError, FormatError, InputError, first_cases
from audit.base.files import first_bytes, read_bytes, refuse_pickle, see
from audit.base.plugins import added, opening
from audit.base.readings import AskedError, Reading, as_typed, asked
from audit.base.remote import local
from audit.base.settings import Unlisted
from audit.base.table import Table
from audit.base.tables import open_table
from audit.hierarchies.formats import (
    edges,
    obo,
    paths,
    published,
    rdf,
    tree,
    wordnet,
)
from audit.hierarchies.formats.format import BuiltInHierarchy, HierarchyFormat, Shape, reading_of
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.built_in import ICD9CM, ICD10CM

FORMATS: tuple[HierarchyFormat, ...] = (
    obo.FORMAT,
    obo.GRAPHS,
    rdf.FORMAT,
    *rdf.KINDS,
    published.AUDIOSET,
    published.OPEN_IMAGES,
    published.COCO,
    tree.FORMAT,
    tree.PARENTS,
    tree.CHILDREN,
    published.CAML,
    paths.FORMAT,
    edges.FORMAT,
    paths.LEVELS,
)
"""Formats of files; the first that matches is meant, and what none matches is a table."""
FOLDERS: tuple[HierarchyFormat, ...] = (wordnet.FORMAT, published.OMOP)
"""Formats of hierarchies that are stored in folders."""

BUILT_IN: tuple[BuiltInHierarchy, ...] = (ICD9CM, ICD10CM)


def hierarchy_formats() -> tuple[HierarchyFormat, ...]:
    """All formats of hierarchy files, those of plugins in use first."""
    return (*added("hierarchies", HierarchyFormat, BuiltInHierarchy), *FORMATS)


def known_hierarchies() -> tuple[BuiltInHierarchy, ...]:
    """Hierarchies that have a name: those built in, then those of plugins in use."""
    return (*BUILT_IN, *added("hierarchies", BuiltInHierarchy, HierarchyFormat))


HierarchyName: TypeAlias = str | Path | Mapping[Any, Any]
"""The name or path of a hierarchy; or what a JSON file of it holds, as a dictionary."""
_GIVEN = Path("given")
"""What a hierarchy from Python is called."""


@opening
def load_hierarchy(
    source: HierarchyName | Any,
    *,
    format: str | None = None,
    relations: tuple[str, ...] = (),
    unlisted: Unlisted | None = None,
    child: str | None = None,
    parent: str | None = None,
    title: str | None = None,
    levels: tuple[str, ...] = (),
    sep: str | None = None,
    vocabulary: str | None = None,
    children: str | None = None,
    plugins: Iterable[str] = (),
    allow_network: bool = False,
) -> Hierarchy:
    """Load a built-in hierarchy by its name, or read one from a file, a folder or an object.

    Args:
        source: A name from `BUILT_IN`, in any case, a path, the address of a database of OMOP, a
            dictionary or list as a JSON file may hold it, a frame of edges or levels, or a graph of
            networkx, as `Hierarchy.from_networkx` takes it.
        format: A name from `FORMATS` or `FOLDERS`; None: detected from the file. Of objects,
            ``parents`` or ``children`` say what stands behind a name.
        relations: For OBO, OBO Graphs, RDF and tables, relationship types to use as edges
            besides ``is_a``; for WordNet, the single relation to use: ``hypernym`` or ``holonym``.
        unlisted: Treatment of labels that the hierarchy lacks; None: a hierarchy from a file
            refuses them, a built-in classification adds them where their digits place them.
        child: As in `Shape`, and so are ``parent``, ``title``, ``levels``, ``sep``, ``children``
            and ``vocabulary``.
        plugins: Installed packages whose formats and hierarchies are used besides.
        allow_network: Whether a file may be at an address: ``https://`` or ``s3://``.

    Raises:
        FormatError: If no format matches the file.
        HierarchyError: On a cycle, or an edge with an end that is not a node.
        InputError: If the file cannot be read, or what it means must be stated.

    >>> import audit
    >>> audit.load_hierarchy({"pet": {"cat": {}, "dog": {}}}).children("pet")
    ('cat', 'dog')
    >>> audit.load_hierarchy("icd9cm").parents("401.9")
    ('401',)
    """
    shape = Shape(
        relations=relations, child=child, parent=parent, title=title, levels=tuple(levels),
        sep=sep, children=children, vocabulary=vocabulary,
    )  # fmt: skip
    if not isinstance(source, str | Path):
        with reading_of(_GIVEN):
            return _of_object(source, format, shape)
    if (built_in := built_in_named(source)) is not None:
        _refuse_useless(shape, built_in)
        known = built_in.load()
        return replace(known, unlisted="refuse") if unlisted == "refuse" else known
    return _with_unlisted(_read(source, format, shape), unlisted or "refuse")


def _read(source: str | Path, format: str | None, shape: Shape) -> Hierarchy:
    """The hierarchy of a file, a folder, or a database of OMOP; never one that is built in."""
    if is_database(source):
        _refuse_useless(shape, published.OMOP)
        return published.read_omop(str(source), shape)
    path = local(source)
    named = (one for one in FOLDERS if format in (None, one.name))
    chosen = next((one for one in named if one.matches(path, b"")), None)
    if chosen is None and (path.is_dir() or not (path.exists() or path.is_symlink())):
        required = "a built-in hierarchy or a hierarchy file is required"
        raise InputError(required, found=repr(str(path)), hint=_near(path))
    with reading_of(path):
        see(*(files_of(path) if chosen else ()))
        chosen = chosen or _format_of(path, format, shape)
        if chosen is None:
            return _of_table(path, open_table(path), shape)
        _refuse_useless(shape, chosen)
        return chosen.read(path, shape)


def _format_of(path: Path, name: str | None, shape: Shape) -> HierarchyFormat | None:
    """The format that is named, or that a file is of; None of a table."""
    head, known = first_bytes(path), hierarchy_formats()
    refuse_pickle(path, head)
    if not head.strip():
        raise InputError("a hierarchy file with content is required", found="nothing")
    fits = (one for one in known if one.name == name or (not name and one.matches(path, head)))
    found = next(fits, None)
    if found is None and name:
        named = first_cases(one.name for one in known)
        raise FormatError(f"a format of hierarchies is one of {named}", found=repr(name))
    if name:
        return found
    if shape.levels and found in (None, tree.FORMAT, paths.FORMAT):
        return paths.LEVELS
    if found or shape.child or shape.parent:
        return found
    if shape.sep and paths.may_be(path, head):
        return paths.FORMAT
    return edges.FORMAT if edges.pairs_in(path) else None


def _of_table(path: Path, table: Table, shape: Shape) -> Hierarchy:
    """The hierarchy of a table, by what its columns are called; asked where they say nothing."""
    if shape.child or shape.parent or any(map(edges.is_parent, table.schema)):
        _refuse_useless(shape, edges.FORMAT)
        return edges.of_table(path, table, shape)
    if shape.levels or paths.levels_in(table.schema):
        _refuse_useless(shape, paths.LEVELS)
        return paths.of_levels(path, table, shape)
    if question := _offers(path, table):
        raise question
    raise FormatError(
        "a column of parents, columns of levels, or paths are required",
        found=f"the columns {first_cases(table.schema)}",
        hint="--hierarchy-child COL --hierarchy-parent COL or --hierarchy-levels COL,COL names "
        "them, --hierarchy-sep SIGN says what joins the names of paths; the page of recipes in the "
        "documentation makes a table of edges of other files",
    )


_COLUMNS = 12
"""Number of columns that are tried, the first ones."""
_OFFERED = 4
"""Number of readings that are offered."""


def _offers(path: Path, table: Table) -> AskedError | None:
    """The question which reading of columns makes the hierarchy, one by which fewest nodes have
    further parents first (the wrong end as child gives most), then one of most nodes; else None."""
    texts = dict([*edges.texts_of(table.frame()).items()][:_COLUMNS])
    if any(name in own for name, own in texts.items()):  # its first line is no header
        return None
    found = list[tuple[int, Reading, dict[str, Any]]]()
    for decision, stated in _ways(texts):
        read = paths.of_levels if "levels" in stated else edges.of_table
        try:
            made = read(path, table, Shape(**stated))
        except AuditError:
            continue
        options = {f"hierarchy_{name}": one for name, one in stated.items()}
        depth = f"depth {int(made.depth.max())}"
        reading = Reading(f"{decision}, {depth}", depth, len(made), as_typed(options), "nodes")
        found.append((made.edges.nnz - len(made), reading, options))
    best = sorted(found, key=lambda one: (one[0], -one[1].rows))[:_OFFERED]
    required = "it must be stated what makes the hierarchy"
    return asked(required, [one for _, one, _ in best], options=best[0][2]) if best else None


def _ways(texts: Mapping[str, list[str]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Ways to read a table, a clause and what states it: columns of parents that are ids, paths."""
    values = {name: {*own} - {""} for name, own in texts.items()}
    n = max(map(len, texts.values()), default=0)
    ids = [name for name, own in texts.items() if "" not in own and 2 * len(values[name]) > n]
    for child, parent in product(ids, texts):
        above = values[parent] - {"0", "-1"}
        same = sum(a == b for a, b in zip(texts[child], texts[parent], strict=True))
        known = 2 * len(above & values[child]) + (len(texts) == 2)
        if 2 * same < n and known > len(above) > 1:
            yield f"{parent!r} holds parents of {child!r}", {"child": child, "parent": parent}
    for name, cells in texts.items():
        if 2 * sum(paths.SIGN in one for one in cells) >= n > 0:
            for one in (one for one in ids if len(values[one]) == n and one != name):
                yield f"{name!r} holds paths to {one!r}", {"child": one, "levels": (name,)}
            yield f"{name!r} holds paths", {"levels": (name,)}


def _refuse_useless(shape: Shape, format: HierarchyFormat | BuiltInHierarchy) -> None:
    """Refuse what is stated of a file whose format it says nothing of."""
    takes = format.takes if isinstance(format, HierarchyFormat) else ()
    useless = sorted(field for field, value in vars(shape).items() if value and field not in takes)
    if useless:
        takers = [one.name for one in (*hierarchy_formats(), *FOLDERS) if set(useless) <= one.takes]
        said = " and ".join(useless)
        raise InputError(
            f"{said} can be stated only of {', '.join(takers) or 'other files'}",
            found=f"{said} for {format.name}",
            hint="leave it out, or name the format by --hierarchy-format",
        )


def _of_object(source: Any, format: str | None, shape: Shape) -> Hierarchy:
    """A hierarchy from a Python object; ``format`` counts only if ``parents`` or ``children``."""
    role = format if format in (tree.PARENTS.name, tree.CHILDREN.name) else None
    if isinstance(source, Mapping | list):
        return tree.of_object(_GIVEN, source, shape, role)
    if hasattr(source, "nodes") and hasattr(source, "is_multigraph"):
        if not source.is_directed():
            required = "a graph whose edges point from child to parent is required"
            hint = "build a networkx.DiGraph"
            raise FormatError(required, found="edges without a direction", hint=hint)
        if useless := [name for name, value in vars(shape).items() if value]:
            required = "nothing but parents or children can be stated of a graph"
            raise InputError(required, found=first_cases(useless))
        ends = [(str(edge[0]), str(edge[1])) for edge in source.edges]
        edges.directed(ends, role, documented=True)
        graph = source.reverse() if role == tree.CHILDREN.name else source
        return Hierarchy.from_networkx(graph, name=_GIVEN.name)
    return _of_table(_GIVEN, open_table(source), shape)


def built_in_named(name: str | Path) -> BuiltInHierarchy | None:
    """The built-in hierarchy of a name, case, dashes and blanks ignored; None if it is none."""
    plain = _PLAIN.sub("", str(name)).lower()
    return next((known for known in known_hierarchies() if known.name == plain), None)


_PLAIN = re.compile(r"[-_ ]")


def _near(path: Path) -> str:
    """A hint with the names nearest to one that is neither built in nor there."""
    names = [known.name for known in known_hierarchies()]
    beside = {one.name: str(one) for one in path.parent.iterdir()} if path.parent.is_dir() else {}
    meant = get_close_matches(_PLAIN.sub("", path.name).lower(), names, n=1)
    meant += [beside[name] for name in get_close_matches(path.name, beside, n=1)]
    guess = f"did you mean {' or '.join(meant)}? " if meant else ""
    return f"{guess}built in: {', '.join(names)}"


def _with_unlisted(hierarchy: Hierarchy, unlisted: Unlisted) -> Hierarchy:
    """The hierarchy with what becomes of labels it lacks; InputError if they cannot be hung."""
    coding = hierarchy.coding
    if unlisted == "hang" and coding is None:
        raise InputError(
            "labels can be hung only where a classification says what their digits mean",
            found=f"no such rules for {hierarchy.name}",
            hint="leave --unlisted out: labels that the file lacks are then refused and counted",
        )
    if unlisted == "hang" or coding is None or coding.integrity is None:
        return replace(hierarchy, unlisted=unlisted)
    tables = frozenset(filter(None, map(coding.integrity.table_of, hierarchy.nodes)))
    return replace(hierarchy, unlisted=unlisted, complete_tables=tables)


def holds_hierarchy(data: str) -> bool:
    """Whether data hold their own hierarchy; any database counts as if it did, unasked."""
    path = Path(data)
    if is_database(data) or published.is_omop(path):
        return True
    of_coco = path.is_file() and published.COCO.matches(path, first_bytes(path))
    return of_coco and b'"supercategory"' in read_bytes(path)


def beside_data(hierarchy: object, vocabulary: str | None) -> dict[str, Any]:
    """``vocabulary`` for `load_hierarchy`: that of labels if the hierarchy is OMOP's, else None."""
    named = isinstance(hierarchy, str | Path)
    of_omop = is_database(hierarchy) or (named and published.is_omop(Path(str(hierarchy))))
    return {"vocabulary": vocabulary if of_omop else None}


def files_of(path: Path) -> list[Path]:
    """The files that a hierarchy is read from: a file itself, those of a folder that are used."""
    if tables := published.tables_in(path):
        return [
            file
            for name, file in tables.items()
            if name in (published.CODES, published.RELATIONSHIP)
        ]
    return sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
