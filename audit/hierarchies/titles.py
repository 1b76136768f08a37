"""Titles of nodes: which node one is of, and dictionaries of the titles of codes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import first_bytes, read_bytes, refuse_pickle
from audit.base.tables import open_table
from audit.hierarchies.building import EDGE_SCHEMA, NODE_SCHEMA
from audit.hierarchies.formats.edges import first_of
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import prefixes

_COLUMNS = {
    "code": ("code", "icd9_code", "icd_code"),
    "title": ("title", "long_title", "short_title"),
}
"""What the columns of a dictionary are called, ignoring case; the first that is there is used."""
_FIXED = re.compile(rb"\s*[0-9VE][0-9]{1,4}[ \t]+\S")
_TABLE_OF_NAME = {
    "diagnoses": re.compile(r"d_icd_diagnoses|_desc_.*_dx\b"),
    "procedures": re.compile(r"d_icd_procedures|_desc_.*_sg\b"),
}


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
    latter the rows of version 9), ``CMS32_DESC_LONG_DX.txt`` and ``..._SG.txt``, and tables with
    the columns ``code`` and ``title``. The code set is derived from the file's name.

    Raises:
        SchemaError: If a column is missing.
        InputError: If the file cannot be read.
    """
    head, name = first_bytes(path), path.name.lower()
    refuse_pickle(path, head)
    titles = _read_fixed(path) if _FIXED.match(head) else _read_table(path)
    table = next((one for one, named in _TABLE_OF_NAME.items() if named.search(name)), None)
    return TitleList(table, titles.drop_nulls("code"))


def _read_fixed(path: Path) -> pl.DataFrame:
    content = read_bytes(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    pairs = [pair for line in text.splitlines() if len(pair := line.split(maxsplit=1)) == 2]
    return pl.DataFrame(pairs, dict.fromkeys(_COLUMNS, pl.String), orient="row")


def _read_table(path: Path) -> pl.DataFrame:
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
    titles = read_titles(path)
    placed = _placed(hierarchy, titles)
    if len(placed) and placed["node"].is_null().all():
        codes = placed["code"].unique(maintain_order=True)
        raise InputError(
            f"titles of codes of the hierarchy {hierarchy.name} are required",
            found=f"none of its codes among {first_cases(codes)}",
            where=path,
            hint="give the list of this classification and version",
        )
    return titles


def with_titles(hierarchy: Hierarchy, lists: Sequence[TitleList]) -> Hierarchy:
    """The hierarchy with the codes and titles of dictionaries added.

    A code that is not a node is added where its digits place it, with the headings in between; a
    listed code of a complete table is assignable; a node that has a title keeps it, and the first
    of several titles wins. Codes without a place are skipped. If the hierarchy is from a file or
    has no coding rules, only titles are set. Codes for which one list has several titles are kept
    as `Hierarchy.two_titles`.
    """
    placed = [_placed(hierarchy, one) for one in lists]
    two: dict[str, tuple[str, ...]] = {}
    for one, frame in zip(lists, placed, strict=True):
        two |= _two_titles(frame, as_written=one.table is None)
    hierarchy = replace(hierarchy, two_titles=two) if two else hierarchy
    every = [pl.DataFrame(schema=NODE_SCHEMA), *(one.select(*NODE_SCHEMA) for one in placed)]
    listed = pl.concat(every).drop_nulls("node").unique("node", keep="first", maintain_order=True)
    if listed.is_empty():
        return hierarchy
    known = pl.col("node").is_in(hierarchy.nodes)
    new = listed.filter(~known)
    titled = [n for n, title in zip(hierarchy.nodes, hierarchy.titles, strict=True) if title]
    named = listed.with_columns(title=pl.when(~pl.col("node").is_in(titled)).then("title"))
    if hierarchy.unlisted is not None:
        named = named.filter(known).with_columns(assignable=pl.lit(None, pl.Boolean))
        further = dict(new.select("node", "title").iter_rows())
        none = pl.DataFrame(schema=EDGE_SCHEMA)
        return replace(hierarchy.extend(none, named), further_titles=further)
    edges = _new_edges(hierarchy, new["node"].to_list())
    headings = edges.join(listed, left_on="child", right_on="node", how="anti").select(
        node="child", title=pl.lit(None, pl.String), assignable=pl.lit(False)
    )
    complete = {one.table for one in lists if one.table and len(one.titles)}
    tables = hierarchy.complete_tables | complete
    return replace(hierarchy, complete_tables=tables).extend(edges, pl.concat([named, headings]))


def _placed(hierarchy: Hierarchy, listed: TitleList) -> pl.DataFrame:
    """``code, title, node, assignable`` of each title; a node is null where a code has no place."""
    nodes = {code: hierarchy.place(code, listed.table).node for code in listed.titles["code"]}
    assignable = True if listed.table and hierarchy.coding else None
    return listed.titles.with_columns(
        node=pl.col("code").replace_strict(nodes, return_dtype=pl.String),
        assignable=pl.lit(assignable, pl.Boolean),
    )


def _two_titles(placed: pl.DataFrame, *, as_written: bool) -> dict[str, tuple[str, ...]]:
    """The different titles of each node for which a list has several.

    A code without a place, or, where that is asked, one with several titles itself, is named as it
    is written.
    """
    again, found = pl.col("code").is_duplicated(), dict[str, dict[str, str]]()
    name = pl.coalesce(pl.when(~(again & as_written)).then("node"), "code")
    for node, title in placed.select(name, "title").drop_nulls().iter_rows():
        if title:
            found.setdefault(node, {}).setdefault(title_key(title), title)
    return {node: tuple(several.values()) for node, several in found.items() if len(several) > 1}


def _new_edges(hierarchy: Hierarchy, nodes: Sequence[str]) -> pl.DataFrame:
    """``child, parent`` of nodes that the hierarchy lacks and of the headings above them."""
    above = {one for node in nodes for one in prefixes(node) if "." in one and one not in hierarchy}
    added = above.union(nodes)

    def parent(node: str) -> str | None:
        known = (code for code in prefixes(node) if code in added or code in hierarchy)
        return next(known, None) or hierarchy.place(node, None).parent

    return pl.DataFrame([(node, parent(node)) for node in sorted(added)], EDGE_SCHEMA, orient="row")
