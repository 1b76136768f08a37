"""Dictionaries of code titles: those of MIMIC, those of CMS, and plain ``code,title`` tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from shlex import quote

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.files import (
    called,
    column_named,
    first_bytes,
    read_bytes,
    read_table,
    refuse_pickle,
)
from audit.hierarchies.building import EDGE_SCHEMA, NODE_SCHEMA
from audit.hierarchies.coding import Placement
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd import icd9

CODE_COLUMNS = ("code", "icd9_code", "icd_code")
"""Names of the column of codes, ignoring case; the first that exists is used."""
TITLE_COLUMNS = ("title", "long_title", "short_title")
"""Names of the column of titles, ignoring case; the first that exists is used."""

_SCHEMA = {"code": pl.String, "title": pl.String}
_FIXED = re.compile(rb"\s*[0-9VE][0-9]{1,4}[ \t]+\S")
_TABLE_OF_NAME = {
    "diagnoses": re.compile(r"d_icd_diagnoses|_desc_.*_dx\b"),
    "procedures": re.compile(r"d_icd_procedures|_desc_.*_sg\b"),
}


@dataclass(frozen=True)
class TitleList:
    """The titles of codes in one file.

    Args:
        table: The code set that the file lists completely: "diagnoses" or "procedures"; None if it
            only gives titles of some codes.
        titles: Columns ``code, title``, codes as written, each once.
        more: Columns ``code, title``: further titles of codes that have several.
    """

    table: str | None
    titles: pl.DataFrame
    more: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_SCHEMA))


def read_titles(path: Path) -> TitleList:
    """Read a title dictionary.

    Supported are ``D_ICD_DIAGNOSES`` and ``D_ICD_PROCEDURES`` of MIMIC-III and MIMIC-IV (of the
    latter the rows of version 9), ``CMS32_DESC_LONG_DX.txt`` and ``..._SG.txt``, and tables with
    the columns ``code`` and ``title``. The code set is derived from the file's name.
    """
    head = first_bytes(path)
    refuse_pickle(path, head)
    fixed = _FIXED.match(head)
    titles = _read_fixed(path) if fixed else _read_table(path)
    every = titles.drop_nulls("code")
    once = every.unique("code", keep="first", maintain_order=True)
    more = every.join(once, on=["code", "title"], how="anti", nulls_equal=True)
    return TitleList(_table_of(path), once, more)


def title_of_node(hierarchy: Hierarchy) -> pl.Expr:
    """Title of the node in the column ``node``; null for one without a title."""
    pairs = zip(hierarchy.nodes, hierarchy.titles, strict=True)
    titles = {node: title or None for node, title in pairs}
    return pl.col("node").replace_strict(titles, default=None, return_dtype=pl.String)


_JOINED = re.compile(r"\s*(?:>>?|»|→|\||/|::)\s*")


def title_key(text: str) -> str:
    """A title, or titles on the way to a node, without case, doubled blanks and what joins them.

    >>> title_key("Home_&  Garden>Pans")
    'home & garden > pans'
    """
    key = " ".join(text.replace("_", " ").split()).casefold()
    return _JOINED.sub(" > ", key) if any(map(key.__contains__, ">»→|/:")) else key


@lru_cache(maxsize=4)
def nodes_by_title(hierarchy: Hierarchy) -> Mapping[str, str | None]:
    """The node of each title, by `title_key`; None where several nodes have it.

    A heading is not meant where one assignable node has its title too. Where ids are no codes, the
    titles on the only way from the top to a node are one too.
    """
    found: dict[str, str | None] = {}
    ways: dict[str, list[str]] = {hierarchy.nodes[hierarchy.root]: []}
    top = hierarchy.titles[hierarchy.root] or hierarchy.nodes[hierarchy.root]
    for index in hierarchy.depth.argsort(kind="stable").tolist():
        node, title = hierarchy.nodes[index], hierarchy.titles[index]
        said = [title] if title else []
        above = hierarchy.parents(node) if hierarchy.integrity is None else ()
        if len(above) == 1 and above[0] in ways:
            ways[node] = [*ways[above[0]], title or node]
            said += [" > ".join(ways[node]), " > ".join([top, *ways[node]])]
        for key in filter(None, map(title_key, said)):
            before = found.get(key, node)
            found[key] = node if before == node else _meant(hierarchy, before, node)
    return found


@lru_cache(maxsize=1)
def nodes_without_dots(hierarchy: Hierarchy) -> Mapping[str, str]:
    """The node of each text that is one, of letters and digits, without dots, or digits without
    blanks, and no other.

    It is empty of a built-in classification, whose codes are read by its own rules.
    """
    if hierarchy.integrity is not None:
        return {}
    parted = [node for node in hierarchy.nodes if _PARTED.fullmatch(node)]
    times = Counter(re.sub("[. ]", "", node) for node in parted)
    every = {re.sub("[. ]", "", node): node for node in parted}
    return {t: node for t, node in every.items() if times[t] == 1 and t not in hierarchy}


_PARTED = re.compile(r"(?=.*\.)(?=.*\d)(?=.*[A-Za-z])[0-9A-Za-z.]+|\d+( \d+)+")


@lru_cache(maxsize=1)
def nodes_by_end(hierarchy: Hierarchy) -> Mapping[str, str]:
    """The node of each text that ends one alone: an address, or a number behind a word.

    It may be another node as it stands: 135 is an ICD-9 code, and ends ``CCS 135``.
    """
    ends = [(found[1], n) for n in hierarchy.nodes if (found := _BEFORE_END.fullmatch(n))]
    numbered = [found for n in hierarchy.nodes if (found := _LETTERS_FIRST.fullmatch(n))]
    if len({found[1] for found in numbered}) == 1 and 2 * len(numbered) > len(hierarchy.nodes) > 2:
        ends += [(found[2], found[0]) for found in numbered]
    times = Counter(end for end, _ in ends)
    return {end: node for end, node in ends if times[end] == 1}


_BEFORE_END = re.compile(r"(?:[a-z]+://\S*[/#:]|[A-Za-z]{2,10}[ :_-](?=[\d.]+$))([^/#:\s]+)")
_LETTERS_FIRST = re.compile(r"([A-Za-z]{2,5})([\d.]+)")
"""A number behind letters with which all nodes begin, as CP01 of household budgets."""
ENDS = "by the ends of their addresses, or the numbers behind their words"
"""How labels are spelt that `nodes_by_end` knows."""


@lru_cache(maxsize=1)
def nodes_without_blanks(hierarchy: Hierarchy) -> Mapping[str, str]:
    """The node of each text of letters and digits that is one alone without the blanks in it.

    It is empty of a built-in classification, whose codes are read by its own rules.
    """
    nodes = filter(_MIXED.search, () if hierarchy.integrity is not None else hierarchy.nodes)
    bare = [("".join(node.split()), node) for node in nodes]
    times = Counter(text for text, _ in bare)
    return {text: node for text, node in bare if times[text] == 1}


_MIXED = re.compile(r"\d.*[A-Za-z]|[A-Za-z].*\d")


@lru_cache(maxsize=1)
def nodes_by_case(hierarchy: Hierarchy) -> Mapping[str, str]:
    """The node of each text in small letters that is one code alone in any case."""
    coded = [n for n in hierarchy.nodes if hierarchy.integrity is None and _CASED.fullmatch(n)]
    times = Counter(map(str.lower, coded))
    return {node.lower(): node for node in coded if times[node.lower()] == 1}


_CASED = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[0-9A-Za-z.]{3,}")


def node_spelt(text: str, hierarchy: Hierarchy) -> tuple[str, str] | None:
    """The node of a text that is one but for its spelling, and how it is spelt; None of others.

    Slashes in decimals of libraries only say where these may be cut: ``813/.54`` is 813.54.
    """
    if (node := nodes_without_dots(hierarchy).get(text)) is not None:
        return node, "without their dots or blanks"
    if text not in hierarchy and (node := nodes_by_end(hierarchy).get(text)) is not None:
        return node, ENDS
    parts = text.split()
    if text not in hierarchy and (node := nodes_without_blanks(hierarchy).get("".join(parts))):
        apart = any(part not in hierarchy for part in parts)
        return (node, "with other blanks in them") if apart else None
    if _DOTTED.fullmatch(text) and hierarchy.integrity is None:
        bare = text.replace(".", "")
        return (bare, "with dots in them") if bare in hierarchy and text not in hierarchy else None
    if text not in hierarchy and hierarchy.integrity is None:
        dotted = text.replace("/", ".")
        if dotted != text and dotted in hierarchy:
            return dotted, "with slashes for dots"
    if text not in hierarchy and (node := nodes_by_case(hierarchy).get(text.lower())) is not None:
        return node, "in another case"
    whole = text.replace("/", "") if _DECIMALS.fullmatch(text) else text
    return (whole, "with slashes in them") if whole != text and whole in hierarchy else None


_DOTTED = re.compile(r"[0-9A-Za-z]{2,}(\.[0-9A-Za-z]{2,})+")
_DECIMALS = re.compile(r"\d{3}(?=[\d./]*/)/?\.[\d/]+")


def _meant(hierarchy: Hierarchy, *nodes: str | None) -> str | None:
    """The only assignable one of nodes with one title; None stands for several before."""
    may = [node for node in nodes if node is None or hierarchy.assignable[hierarchy.index(node)]]
    return may[0] if len(may) == 1 else None


def read_own_titles(path: Path, hierarchy: Hierarchy) -> TitleList:
    """Read a title dictionary that the user gave for a hierarchy."""
    titles = read_titles(path)
    without = unplaced(hierarchy, titles)["code"]
    if len(without) and len(without) == len(titles.titles):
        raise InputError(
            f"titles of codes of the hierarchy {hierarchy.name} are required",
            found=f"none of its codes among {first_cases(without)}",
            where=path,
            hint="give the list of this classification and version",
        )
    return titles


def with_titles(hierarchy: Hierarchy, lists: Sequence[TitleList]) -> Hierarchy:
    """The hierarchy with the codes and titles of dictionaries added.

    A code that is not a node is added where its digits place it, with the headings in between; a
    listed code of a complete table is assignable; a node that has a title keeps it, and the first
    of several lists wins. Codes without a place are skipped; `unplaced` returns them. If the
    hierarchy is from a file or has no coding rules, only titles are set. Codes for which one
    list has several titles are kept as `Hierarchy.two_titles`.

    Time grows with the number of codes plus the size of the hierarchy.
    """
    by_list = [_titles_by_node(hierarchy, one) for one in lists]
    two: dict[str, tuple[str, ...]] = {}
    for one, by_node in zip(lists, by_list, strict=True):
        two |= _two_titles(hierarchy, one, by_node)
    hierarchy = replace(hierarchy, two_titles=two) if two else hierarchy
    listed = pl.concat([pl.DataFrame(schema=NODE_SCHEMA), *by_list])
    listed = listed.unique("node", keep="first", maintain_order=True)
    if listed.is_empty():
        return hierarchy
    if hierarchy.unlisted is not None:
        return _titled(hierarchy, listed)
    edges = _new_edges(hierarchy, listed["node"])
    headings = edges.select(pl.col("child").alias("node")).join(listed, on="node", how="anti")
    headings = headings.with_columns(
        pl.lit(None, pl.String).alias("title"), pl.lit(False).alias("assignable")
    )
    nodes = _keeping_titles(hierarchy, pl.concat([listed, headings]))
    complete = {one.table for one in lists if one.table and len(one.titles)}
    known = replace(hierarchy, complete_tables=hierarchy.complete_tables | complete)
    return known.extend(edges, nodes)


def unplaced(hierarchy: Hierarchy, titles: TitleList) -> pl.DataFrame:
    """The codes of a dictionary that have no place in the hierarchy, as ``code, reason``."""
    placements = _place(hierarchy, titles)
    return pl.DataFrame(
        [(code, found.reason) for code, found in placements.items() if found.node is None],
        {"code": pl.String, "reason": pl.String},
        orient="row",
    )


def _read_fixed(path: Path) -> pl.DataFrame:
    content = read_bytes(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", "replace")
    pairs = (line.split(maxsplit=1) for line in text.splitlines())
    return pl.DataFrame([pair for pair in pairs if len(pair) == 2], _SCHEMA, orient="row")


def _read_table(path: Path) -> pl.DataFrame:
    table = read_table(path)
    if table.width == 2 and not called(table.columns, [*CODE_COLUMNS, *TITLE_COLUMNS]):
        raise SchemaError(
            "a table of titles needs columns that are called so", where=path,
            found=f"the columns {first_cases(table.columns)}",
            hint=f"sed '1i code,title' {quote(str(path))} > titles.csv names them, where the first "
            "line is a row",
        )  # fmt: skip
    code, title = (_first_column(table, names, path) for names in (CODE_COLUMNS, TITLE_COLUMNS))
    version = [column for column in table.columns if column.lower() == "icd_version"]
    table = table.select(
        pl.col(column).cast(pl.String).str.strip_chars() for column in (code, title, *version)
    )
    if version:
        table = table.filter(pl.col(version[0]) == "9")
    return table.select(code=code, title=title)


def _first_column(table: pl.DataFrame, names: tuple[str, ...], path: Path) -> str:
    present = {column.lower() for column in table.columns}
    wanted = next(
        (name for name in names if name in present), "code" if "code" in names else "title"
    )
    return column_named(table, wanted, path)


def _table_of(path: Path) -> str | None:
    name = path.name.lower()
    return next((table for table, shape in _TABLE_OF_NAME.items() if shape.search(name)), None)


def _two_titles(
    hierarchy: Hierarchy, titles: TitleList, by_node: pl.DataFrame
) -> dict[str, tuple[str, ...]]:
    """The different titles of each node for which a list has several.

    A code without a place, or in a list of no known code set, is named as it is written.
    """
    again = titles.titles.join(titles.more, on="code", how="semi")
    told = pl.concat([again, titles.more])
    placed = {} if titles.table is None else _place(hierarchy, replace(titles, titles=told))
    nodes = [placed[code].node or code if code in placed else code for code in told["code"]]
    twice = by_node.filter(pl.col("node").is_duplicated()).select("node", "title")
    found: dict[str, dict[str, str]] = {}
    for node, title in [*zip(nodes, told["title"], strict=True), *twice.iter_rows()]:
        if title:
            found.setdefault(node, {}).setdefault(" ".join(title.casefold().split()), title)
    return {node: tuple(several.values()) for node, several in found.items() if len(several) > 1}


def _place(hierarchy: Hierarchy, titles: TitleList) -> dict[str, Placement]:
    codes = titles.titles["code"].to_list()
    return {code: hierarchy.place(code, titles.table) for code in codes}


def _titles_by_node(hierarchy: Hierarchy, titles: TitleList) -> pl.DataFrame:
    """``node, title, assignable`` of the codes that have a place."""
    placements = _place(hierarchy, titles)
    assignable = True if titles.table and hierarchy.coding else None
    return titles.titles.select(
        pl.Series("node", [placements[code].node for code in titles.titles["code"]], pl.String),
        "title",
        pl.lit(assignable, pl.Boolean).alias("assignable"),
    ).drop_nulls("node")


def _new_edges(hierarchy: Hierarchy, nodes: pl.Series) -> pl.DataFrame:
    """``child, parent`` of the nodes that the hierarchy lacks and of the headings above them."""
    added = {node for node in nodes if node not in hierarchy}
    added |= {
        prefix
        for node in added
        for prefix in icd9.prefixes(node)
        if "." in prefix and prefix not in hierarchy
    }
    return pl.DataFrame(
        [(node, _parent(node, hierarchy, added)) for node in sorted(added)],
        EDGE_SCHEMA,
        orient="row",
    )


def _parent(node: str, hierarchy: Hierarchy, added: set[str]) -> str | None:
    known = (code for code in icd9.prefixes(node) if code in added or code in hierarchy)
    prefix = next(known, None)
    return hierarchy.place(node, None).parent if prefix is None else prefix


def _titled(hierarchy: Hierarchy, listed: pl.DataFrame) -> Hierarchy:
    """The hierarchy of a file, whose nodes no dictionary changes, with titles of listed codes."""
    known = pl.col("node").is_in(hierarchy.nodes)
    nodes = _keeping_titles(hierarchy, listed.filter(known))
    further = dict(listed.filter(~known).select("node", "title").iter_rows())
    without_edges = hierarchy.edge_frame().clear()
    titled = hierarchy.extend(
        without_edges, nodes.with_columns(assignable=pl.lit(None, pl.Boolean))
    )
    return replace(titled, further_titles=further)


def _keeping_titles(hierarchy: Hierarchy, nodes: pl.DataFrame) -> pl.DataFrame:
    titled = [node for node, title in zip(hierarchy.nodes, hierarchy.titles, strict=True) if title]
    keep = pl.col("node").is_in(titled)
    return nodes.with_columns(pl.when(keep).then(None).otherwise("title").alias("title"))
