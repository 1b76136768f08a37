"""Titles of nodes: which node one is of, and dictionaries of the titles of codes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import first_bytes, refuse_pickle
from audit.base.tables import open_table
from audit.hierarchies.formats.edges import first_of
from audit.hierarchies.hierarchy import Hierarchy

_COLUMNS = {
    "code": ("code", "icd9_code", "icd_code"),
    "title": ("title", "long_title", "short_title"),
}
"""What the columns of a dictionary are called, ignoring case; the first that is there is used."""
_TABLE_OF_NAME = {"diagnoses": "d_icd_diagnoses", "procedures": "d_icd_procedures"}


def title_of_node(hierarchy: Hierarchy) -> pl.Expr:
    """Title of the node in the column ``node``; null for one without a title."""
    pairs = zip(hierarchy.nodes, hierarchy.titles, strict=True)
    titles = {node: title or None for node, title in pairs}
    return pl.col("node").replace_strict(titles, default=None, return_dtype=pl.String)


def title_key(text: str) -> str:
    """A title without case and doubled blanks, for which underscores are blanks.

    >>> title_key("Home_&  Garden")
    'home & garden'
    """
    return " ".join(text.replace("_", " ").split()).casefold()


@lru_cache(maxsize=4)
def nodes_by_title(hierarchy: Hierarchy) -> Mapping[str, str | None]:
    """The node of each title, by `title_key`; None where several nodes have it.

    The name of a node without a title is its title. A heading is not meant where one assignable
    node has its title too.
    """
    several: dict[str, list[int]] = {}
    for index, (title, node) in enumerate(zip(hierarchy.titles, hierarchy.nodes, strict=True)):
        several.setdefault(title_key(title or node), []).append(index)
    found: dict[str, str | None] = {}
    for key, nodes in several.items():
        meant = nodes if len(nodes) == 1 else [i for i in nodes if hierarchy.assignable[i]]
        found[key] = hierarchy.nodes[meant[0]] if len(meant) == 1 else None
    return found


@dataclass(frozen=True)
class TitleList:
    """The titles of codes in one file.

    Args:
        table: The code set that the file lists completely: "diagnoses" or "procedures"; None if it
            only gives titles of some codes.
        titles: Columns ``code, title``, codes as written; a code may have several titles.
    """

    table: str | None
    titles: pl.DataFrame


def read_titles(path: Path) -> TitleList:
    """Read a title dictionary.

    Supported are ``D_ICD_DIAGNOSES`` and ``D_ICD_PROCEDURES`` of MIMIC-III and MIMIC-IV (of the
    latter the rows of version 9), and tables with the columns ``code`` and ``title``. The code set
    is derived from the file's name.

    Raises:
        SchemaError: If a column is missing.
        InputError: If the file cannot be read.
    """
    refuse_pickle(path, first_bytes(path))
    name = path.name.lower()
    table = next((one for one, named in _TABLE_OF_NAME.items() if named in name), None)
    return TitleList(table, _read_table(path).drop_nulls("code"))


def _read_table(path: Path) -> pl.DataFrame:
    """``code, title`` as text, of ICD-9 alone if it gives versions; SchemaError if one lacks."""
    table = open_table(path)
    found = {name: first_of(table.schema, names) for name, names in _COLUMNS.items()}
    if lacking := [name for name, column in found.items() if column is None]:
        raise SchemaError(
            f"a column named {lacking[0]!r} is required",
            found=f"the columns {first_cases(table.schema)}",
            where=path,
            hint="write code,title as the first line where there is none",
        )
    version = table.column("icd_version")
    frame = table.frame([one for one in (*found.values(), version) if one])
    frame = frame.select(pl.all().cast(pl.String).str.strip_chars())
    return frame.filter(pl.col(version) == "9" if version else True).select(**found)


def read_own_titles(path: Path, hierarchy: Hierarchy) -> TitleList:
    """Read a title dictionary that the user gave for a hierarchy; InputError if it is of others."""
    listed = read_titles(path)
    codes = dict.fromkeys(listed.titles["code"])
    if codes and all(hierarchy.place(code, listed.table).node is None for code in codes):
        raise InputError(
            f"titles of codes of the hierarchy {hierarchy.name} are required",
            found=f"none of its codes among {first_cases(codes)}",
            where=path,
            hint="give the list of this classification and version",
        )
    return listed


def with_titles(hierarchy: Hierarchy, lists: Sequence[TitleList]) -> Hierarchy:
    """The hierarchy with the titles of dictionaries.

    A node that has a title keeps it, and the first of several titles wins. Titles of codes that are
    no nodes are kept as `Hierarchy.further_titles`, codes for which one list has several titles as
    `Hierarchy.two_titles`.
    """
    if not lists:
        return hierarchy
    titles, two = dict[str, str](), dict[str, tuple[str, ...]]()
    for listed in lists:
        several, rows = defaultdict[str, dict[str, str]](dict), Counter(listed.titles["code"])
        for code, title in listed.titles.iter_rows():
            node = hierarchy.place(code, listed.table).node
            if node:
                titles.setdefault(node, title or "")
            alone = listed.table or rows[code] == 1
            if title:
                several[node if node and alone else code].setdefault(title_key(title), title)
        two |= {name: (*own.values(),) for name, own in several.items() if len(own) > 1}
    named = zip(hierarchy.nodes, hierarchy.titles, strict=True)
    others = {node: title for node, title in titles.items() if node not in hierarchy}
    return replace(
        hierarchy,
        titles=tuple(title or titles.get(node, "") for node, title in named),
        further_titles={**hierarchy.further_titles, **others},
        two_titles=two or hierarchy.two_titles,
    )
