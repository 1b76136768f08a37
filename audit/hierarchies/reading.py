"""Built-in hierarchies and readers of hierarchy files, one format a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from typing import Any, TypeAlias

from audit.base.databases import is_base
from audit.base.errors import FormatError, InputError, first_cases
from audit.base.files import first_bytes, read_bytes, read_text, refuse_pickle
from audit.base.other_files import refuse_other
from audit.base.plain_copies import plain_copy
from audit.base.plugins import added, opening
from audit.base.reading import see
from audit.base.remote import local
from audit.base.settings import Unlisted
from audit.hierarchies.formats import (
    adjacency,
    audioset,
    caml,
    clinical,
    edges,
    implied,
    obo,
    omop,
    omop_tables,
    paths,
    rdf,
    tree,
    wordnet,
)
from audit.hierarchies.formats.format import (
    BuiltInHierarchy,
    HierarchyFormat,
    Shape,
    head_text,
    reading_of,
)
from audit.hierarchies.formats.tables import columns_of, rows_of
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.built_in import ICD9CM, ICD10CM

FORMATS: tuple[HierarchyFormat, ...] = (
    edges.FORMAT,
    paths.LEVELS,
    paths.OUTLINE,
    paths.PREFIXES,
    caml.FORMAT,
    obo.FORMAT,
    obo.GRAPHS,
    rdf.FORMAT,
    *rdf.KINDS,
    audioset.FORMAT,
    tree.FORMAT,
    tree.PARENTS,
    tree.CHILDREN,
    paths.FORMAT,
    paths.DOTTED,
    adjacency.FORMAT,
    clinical.MEDS,
    clinical.CODE_SYSTEM,
)
FOLDERS: tuple[HierarchyFormat, ...] = (wordnet.FORMAT, omop.OMOP)
"""Formats of hierarchies that are stored in folders."""

BUILT_IN: tuple[BuiltInHierarchy, ...] = (ICD9CM, ICD10CM)


def hierarchy_formats() -> tuple[HierarchyFormat, ...]:
    """All formats of hierarchy files, those of plugins in use last."""
    return (*FORMATS, *added("hierarchies", HierarchyFormat, BuiltInHierarchy))


def known_hierarchies() -> tuple[BuiltInHierarchy, ...]:
    """Hierarchies that have a name: those built in, then those of plugins in use."""
    return (*BUILT_IN, *added("hierarchies", BuiltInHierarchy, HierarchyFormat))


HierarchyName: TypeAlias = str | Path | Mapping[Any, Any]
"""The name or path of a hierarchy; or what a JSON file of it holds, as a dictionary."""
_GIVEN = Path("given")
"""What a hierarchy from Python is called."""


@opening
def load_hierarchy(
    source: HierarchyName | Any = None,
    *,
    format: str | None = None,
    relations: tuple[str, ...] = (),
    unlisted: Unlisted | None = None,
    child: str | None = None,
    parent: str | None = None,
    title: str | None = None,
    levels: tuple[str, ...] = (),
    vocabulary: str | None = None,
    instances: bool = False,
    parents: Mapping[Any, Any] | None = None,
    children: Mapping[Any, Any] | None = None,
    plugins: Iterable[str] = (),
    allow_network: bool = False,
) -> Hierarchy:
    """Load a built-in hierarchy by its name, or read one from a file, a folder or an object.

    Args:
        source: A name from `BUILT_IN`, in any case, a path, the address of a database of OMOP, a
            dictionary or list as a JSON file may hold it, a frame of edges or levels, or a graph of
            networkx, as `Hierarchy.from_networkx` takes it.
        format: A name from `FORMATS` or `FOLDERS`; None: detected from the file.
        relations: For OBO, OBO Graphs and graphs, relationship types to use as edges besides
            ``is_a``; for JSON, keys that hold nodes below; for WordNet, the single relation to use:
            ``hypernym`` or ``holonym``.
        unlisted: Treatment of labels that the hierarchy lacks; None: a hierarchy from a file
            refuses them, a built-in classification adds them where their digits place them.
        child: As in `Shape`, and so are ``parent``, ``title``, ``levels``, ``vocabulary`` and
            ``instances``.
        parents: In place of a source, the parent, or list of parents, of each name.
        children: In place of a source, the list of those below each name.
        plugins: Installed packages whose formats and hierarchies are used besides.
        allow_network: Whether a file may be at an address: ``https://``, ``s3://`` or ``gs://``.

    Raises:
        FormatError: If not exactly one format matches the file.
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
        vocabulary=vocabulary, instances=instances,
    )  # fmt: skip
    for role, given in (("parents", parents), ("children", children)):
        if given is not None:
            source = tree.related(given, role)
    if not isinstance(source, str | Path):
        return _of_object(source, shape)
    if (built_in := built_in_named(source)) is not None:
        _refuse_useless(shape, (), built_in.name)
        known = built_in.load()
        return replace(known, unlisted="refuse") if unlisted == "refuse" else known
    return _of_file(_read(source, format, shape), unlisted or "refuse")


def _read(source: str | Path, format: str | None, shape: Shape) -> Hierarchy:
    if is_base(source):
        _refuse_useless(shape, omop.OMOP.takes, f"a database, {omop.OMOP.name}")
        return omop.of_base(str(source), shape)
    path = local(source)
    for folder in FOLDERS:
        if folder.matches(path, b"") and format in (None, folder.name):
            see(*files_of(path))
            _refuse_useless(shape, folder.takes, folder.name)
            return folder.read(path, shape)
    if path.is_symlink():
        first_bytes(path)
    if path.is_dir() or not path.exists():
        raise InputError(
            "a built-in hierarchy or a hierarchy file is required",
            found=repr(str(path)),
            hint=_near(path),
        )
    copy, told = plain_copy(path, rows=False)
    head = first_bytes(copy)
    refuse_pickle(path, head)
    with reading_of(path, copy):
        chosen = _format_of(copy, head, format, shape)
        _refuse_useless(shape, chosen.takes, chosen.name)
        found = chosen.read(copy, shape)
    return replace(found, readings=(*told, *found.readings)) if told else found


def holds_hierarchy(data: str) -> bool:
    """Whether data hold their own hierarchy; a database is not asked."""
    path = Path(data)
    return is_base(data) or omop.is_omop(path) or (path.is_file() and _is_coco(path))


def _is_coco(path: Path) -> bool:
    """Whether pictures are labelled with categories that say what is above them."""
    return _has_pictures(path, first_bytes(path), b'"supercategory"')


def _has_pictures(path: Path, head: bytes, key: bytes) -> bool:
    """Whether it is an object of COCO with a key."""
    return _PICTURES.match(head_text(head)) is not None and key in read_bytes(path)


_PICTURES = re.compile(r'\{.*?"(images|categories|annotations)"\s*:\s*\[', re.DOTALL)


def hierarchy_hint(data: str) -> str:
    """How a hierarchy is named: as the file of data itself where columns of words are levels."""
    path = Path(data)
    with suppress(InputError):
        if path.is_file() and paths.has_levels(path, first_bytes(path), instances=True):
            found = load_hierarchy(path, format=paths.LEVELS.name, instances=True)
            if all(any(map(str.isalpha, node)) for node in found.nodes):
                said = (one.decision for one in found.readings if "levels" in one.option)
                return f"--hierarchy {quote(data)} if {next(said)}"
    return "--hierarchy FILE names one, --hierarchy icd9cm one that is built in"


def beside_data(hierarchy: object, data: object, vocabulary: str | None) -> dict[str, Any]:
    """What data say of their hierarchy: ``vocabulary`` and ``instances``, as in `Shape`.

    The vocabulary of labels is that of the hierarchy in tables of OMOP, and where the data are the
    file of the hierarchy, its rows are instances.
    """
    named = isinstance(hierarchy, str | Path)
    of_omop = is_base(hierarchy) or (named and omop.is_omop(Path(str(hierarchy))))
    same = named and Path(str(hierarchy)) == Path(str(data))
    return {"vocabulary": vocabulary if of_omop else None, "instances": same}


def files_of(path: Path) -> list[Path]:
    """The files that a hierarchy is read from: a file itself, those of a folder that are used."""
    if omop.is_omop(path):
        names = (omop_tables.CODES, omop_tables.RELATIONSHIP)
        return [file for name, file in omop_tables.Tables(path).names.items() if name in names]
    return sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]


def _of_object(source: Any, shape: Shape) -> Hierarchy:
    """A hierarchy from an object of Python."""
    import narwhals as nw

    if isinstance(source, Mapping | list):
        with reading_of(_GIVEN):
            return tree.of_object(_GIVEN, source, shape)
    if hasattr(source, "nodes") and hasattr(source, "is_multigraph"):
        return Hierarchy.from_networkx(source, name=_GIVEN.name, relations=shape.relations)
    try:
        frame = nw.from_native(source, eager_only=True).to_polars()
    except TypeError:
        raise InputError(
            "a hierarchy is a name, a path, a dictionary, a list, a frame or a graph of networkx",
            found=type(source).__name__,
        ) from None
    of_table = paths.of_levels if shape.levels else edges.of_table
    with reading_of(_GIVEN):
        return of_table(_GIVEN, frame, shape)


def built_in_named(name: str | Path) -> BuiltInHierarchy | None:
    """The built-in hierarchy of a name, case, dashes and blanks ignored; None if it is none."""
    plain = _PLAIN.sub("", str(name)).lower()
    return next((known for known in known_hierarchies() if known.name == plain), None)


_PLAIN = re.compile(r"[-_ ]")


def _near(path: Path) -> str:
    """The names nearest to one that is neither built in nor there."""
    names = [known.name for known in known_hierarchies()]
    plain = _PLAIN.sub("", path.name).lower()
    meant = get_close_matches(plain, names, n=1)
    beside = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    meant += [str(path.parent / name) for name in get_close_matches(path.name, beside, n=1)]
    guess = f"did you mean {' or '.join(meant)}? " if meant else ""
    return f"{guess}built in: {', '.join(names)}"


def _of_file(hierarchy: Hierarchy, unlisted: Unlisted) -> Hierarchy:
    """The hierarchy that a file states completely, unless labels that it lacks are to hang."""
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


def _refuse_useless(shape: Shape, takes: Iterable[str], name: str) -> None:
    """Refuse what is stated of a file whose format it says nothing of."""
    stated = {field for field, value in vars(shape).items() if value and field != "instances"}
    if useless := sorted(stated - set(takes)):
        flags = [_FLAGS.get(field, f"--hierarchy-{field}") for field in useless]
        takers = [one.name for one in (*hierarchy_formats(), *FOLDERS) if set(useless) <= one.takes]
        raise InputError(
            f"{' and '.join(useless)} can be stated only of {', '.join(takers) or 'other files'}",
            found=f"{' and '.join(useless)} for {name}",
            hint=f"leave {' and '.join(flags)} out, or name the format by --hierarchy-format",
        )


_FLAGS = {"relations": "--relations", "vocabulary": "--vocabulary"}


def _refuse_ranks(path: Path, head: bytes) -> None:
    """Refuse categories whose ranks, as iNaturalist has them, are not what is read of COCO."""
    if _has_pictures(path, head, b'"kingdom"'):
        raise FormatError(
            "a file of a kind that is read here is required",
            found="categories of iNaturalist, with their ranks",
            where=path,
            hint="the page of recipes in the documentation makes a table of edges of them",
        )


def _format_of(path: Path, head: bytes, name: str | None, shape: Shape) -> HierarchyFormat:
    if not head.strip():
        raise InputError("a hierarchy file with content is required", found="nothing", where=path)
    columns = columns_of(path, head)
    if not name and columns and (shape.levels or shape.parent):
        name = (paths.LEVELS if shape.levels else edges.FORMAT).name
    if not name and shape.instances and paths.has_levels(path, head, instances=True):
        name = paths.LEVELS.name
    if not name:
        refuse_other(path, head, hierarchy=True)
        _refuse_ranks(path, head)
    matching = [
        known
        for known in hierarchy_formats()
        if (known.name == name if name else known.matches(path, head))
    ]
    if len(matching) == 1:
        return matching[0]
    if not matching and not name:
        refuse_other(path, head, unmatched=True, hierarchy=True)
        if columns:
            read_text(path)  # what is not UTF-8 is reported as that
    table = f"a table with the columns {first_cases(columns)}" if columns else "none that matches"
    ways = (
        "name its columns by --hierarchy-child COL --hierarchy-parent COL, or each level by "
        "--hierarchy-levels COL; or rename them so; `audit list formats` says what is read"
    )
    if columns and not (matching or name) and (levels := implied.possible_levels(rows_of(head))):
        named = " ".join(f"--hierarchy-levels {quote(one)}" for one in levels)
        ways = f"name its levels, perhaps {named}; or its columns by --hierarchy-child COL "
        ways += "--hierarchy-parent COL"
    elif columns and not (matching or name) and (ends := implied.ends_told(rows_of(head))):
        child, parent = map(quote, ends)
        ways = f"name its columns, perhaps --hierarchy-child {child} --hierarchy-parent {parent}"
    elif columns and all(
        len({*n}) == len(n) for n in zip(*filter(any, rows_of(head)), strict=False)
    ):
        ways = "no column of it holds parents, since each has another value in each row: add one; "
        ways += "or write codes that begin with those above them"
    raise FormatError(
        "exactly one hierarchy format must match"
        if matching
        else "a hierarchy is required, such as child,parent[,title] separated by commas or tabs",
        found=", ".join(known.name for known in matching) or table,
        where=path,
        hint=ways
        if columns and not (matching or name)
        else "; ".join(f"{known.name}: {known.title}" for known in matching or hierarchy_formats()),
    )
