"""Labels as written become nodes: which node each is, and what must be asked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from audit.base.errors import first_cases
from audit.base.readings import AskedError, Reading
from audit.data.asking.repairs import best_way
from audit.data.asking.seen import as_read
from audit.data.columns import AS_WRITTEN, Columns, read_as
from audit.data.labels import Nodes, labels_in
from audit.hierarchies.coding import Placement
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import load_hierarchy

_ODD = ("unknown_code", "malformed_code", "no_place")
"""Reasons for which labels are refused that may be nodes when they are read otherwise."""
_OTHER = {"icd9cm": "icd10cm", "icd10cm": "icd9cm"}
_NAMED = {
    "rows": "name the columns with --id and --label, or another --hierarchy",
    "classes": "name classes as labels are named",
}


@dataclass(frozen=True, eq=False)
class Placed:
    """Labels as nodes.

    Args:
        hierarchy: The hierarchy, grown by the nodes of codes that it lacks.
        frame: ``label, table, node, added, reason``, a row for each label of a table; ``added``
            whether its node was added, ``reason`` why it has none.
        readings: What is told of them.
    """

    hierarchy: Hierarchy
    frame: pl.DataFrame
    readings: tuple[Reading, ...] = ()


def placed(
    counts: pl.DataFrame,
    hierarchy: Hierarchy,
    columns: Columns | None = None,
    where: object = "",
    unit: Literal["rows", "classes"] = "rows",
) -> Placed:
    """Place labels in a hierarchy.

    Args:
        counts: ``label, table, rows``: each label as written, and how many rows have it.
        hierarchy: The hierarchy.
        columns: How cells and labels are read; None: as they are written, and nothing is asked.
        where: The data, for messages.
        unit: What ``rows`` counts: rows of labels, or the classes of predictions, each once.

    Raises:
        AskedError: If more than one row in ten is refused, and one reading makes nodes of half of
            these, or they are of the other built-in classification, or half of all rows are left.
    """
    labels = counts.select("label", "table", "rows").sort("label", "table")
    words = columns or AS_WRITTEN
    found = [place(label, table, hierarchy, words) for label, table, _ in labels.iter_rows()]
    parts = {part: [getattr(one, part) for one in found] for part in ("node", "parent", "reason")}
    frame = labels.hstack(pl.DataFrame(parts, schema=dict.fromkeys(parts, pl.String)))
    if words.both and hierarchy.name in _OTHER:
        nodes = Nodes(load_hierarchy(_OTHER[hierarchy.name]))
        other = pl.Series([nodes.is_complete(one) for one in frame["label"]], dtype=pl.Boolean)
        version = pl.when(pl.col("reason").is_in(_ODD) & other).then(pl.lit("other_version"))
        frame = frame.with_columns(reason=version.otherwise("reason"))
    asked = columns is not None and columns.unlisted != "refuse"
    readings = _asked(frame, hierarchy, words, where, unit) if asked else ()
    told = frame.with_columns(added=pl.col("parent").is_not_null())
    told = told.select("label", "table", "node", "added", "reason")
    return Placed(_grown(hierarchy, frame), told, readings)


def place(
    label: str, table: str | None, hierarchy: Hierarchy, words: Columns = AS_WRITTEN
) -> Placement:
    """The placement of a label as written, or else as ``words`` read it.

    A code that no edition of the classification has is refused as malformed, wherever its digits
    would place it; with ``refuse`` one that the hierarchy lacks as unknown.
    """
    refuse, integrity = "refuse" in (words.unlisted, hierarchy.unlisted), hierarchy.integrity

    def placed_as(text: str) -> Placement:
        found = hierarchy.place(text, table)
        listed = found.node in hierarchy.further_titles
        if integrity is not None and integrity.never_valid(found) and not listed:
            return Placement(reason="malformed_code")
        lacked = found.parent is not None or found.reason == "no_place"
        return Placement(reason="unknown_code") if lacked and refuse else found

    found = placed_as(label)
    odd = found.reason in (*_ODD, "other_version")  # which a code of the WHO is, with an X behind
    if found.node is not None or not odd:
        return found
    text = read_as(label, words, hierarchy, lambda one: placed_as(one).node is not None)
    return Placement(reason="missing_code") if text is None else placed_as(text)


def _grown(hierarchy: Hierarchy, places: pl.DataFrame) -> Hierarchy:
    """The hierarchy with a node added for each placement, ``node, parent``, that has a parent."""
    new = places.drop_nulls("parent").unique("node").sort("node")
    if new.is_empty():
        return hierarchy
    titles = [hierarchy.further_titles.get(node) for node in new["node"]]
    nodes = new.select("node", title=pl.Series(titles, dtype=pl.String), assignable=pl.lit(True))
    return hierarchy.extend(new.select("parent", child="node"), nodes)


def _asked(
    frame: pl.DataFrame, hierarchy: Hierarchy, columns: Columns, where: object, unit: str
) -> tuple[Reading, ...]:
    """What is told of refused labels; raises AskedError where it must be stated how to read."""
    refused = pl.col("reason").is_in(_ODD)
    may = frame.filter(refused | pl.col("reason").is_null() | (pl.col("reason") == "retired_code"))
    odd = may.filter(refused).sort("rows", descending=True)
    every, rows = int(may["rows"].sum()), int(odd["rows"].sum())
    if 10 * rows <= every:
        return ()
    _ask_version(may, odd, hierarchy, where, unit)
    cases = first_cases(odd["label"])
    found = f"{rows:,} of {every:,} {unit} with labels that are none, such as {cases}"
    cells = may.group_by(cell="label", maintain_order=True).agg(pl.col("rows").sum())
    way = best_way(cells, Nodes(hierarchy), columns)
    apart = unit == "rows" or {"sep", "take"}.isdisjoint(way.options)
    read = _read_by(odd, replace(columns, **way.options), hierarchy) if apart else 0
    if 2 * read >= rows:
        raise AskedError(
            f"how labels are read that are no nodes of {hierarchy.name} is not certain",
            found=found,
            where=where,
            options=way.options,
            reads=f"reads {read:,} of them; --unlisted refuse leaves them out",
        )
    if 2 * rows > every:
        raise AskedError(
            f"labels that are nodes of {hierarchy.name} are required",
            found=found,
            where=where,
            hint=f"{_NAMED[unit]}; --unlisted refuse reads the other {unit} alone",
        )
    decision = f"labels that are no nodes are refused: {cases}"
    why = "no other reading makes nodes of half of them"
    return (Reading(decision, why, rows, "--strip TEXT", unit),)


def _read_by(odd: pl.DataFrame, columns: Columns, hierarchy: Hierarchy) -> int:
    """Number of rows of refused labels that are labels, or words for none, in another way."""
    nodes, total = Nodes(hierarchy), 0
    parts = labels_in(odd["label"], columns)
    for own, table, rows in zip(parts, odd["table"], odd["rows"], strict=True):
        texts = as_read(dict.fromkeys(own, 1), nodes, columns)
        total += rows * all(nodes.is_complete(text, table) for text in texts)
    return total


def _ask_version(
    may: pl.DataFrame, odd: pl.DataFrame, hierarchy: Hierarchy, where: object, unit: str
) -> None:
    """Raise AskedError where the refused labels are codes of the other built-in classification."""
    if hierarchy.name not in _OTHER:
        return
    other = load_hierarchy(_OTHER[hierarchy.name])
    refused, known = (
        Nodes(other).share(dict(some.group_by("label").agg(pl.col("rows").sum()).iter_rows()))
        for some in (odd, may.filter(pl.col("reason").is_null()))
    )
    if 10 * refused.nodes < 9 * refused.n or 2 * refused.complete < refused.n:
        return
    cases = first_cases(odd["label"])
    share = f"{refused.nodes:,} of {refused.n + known.n:,} {unit}"
    found = f"{share} with codes of {other.name} alone, such as {cases}"
    if 10 * known.nodes >= 9 * known.n:
        raise AskedError(
            f"labels that are codes of {hierarchy.name} are required",
            found=found,
            where=where,
            hint="" if unit == "rows" else "predictions must be of the codes that labels are of",
            options={"hierarchy": other.name} if unit == "rows" else {},
            reads=f"reads {refused.nodes + known.nodes:,} of them",
        )
    raise AskedError(
        "labels that are codes of one version of ICD are required",
        found=f"{found}; E and V codes may be of either",
        where=where,
        hint="--where COLUMN=VALUE reads the rows of one version, where a column says it; "
        "--unlisted refuse reads all other codes as of this one",
    )
