"""Ways to read cells of which too few are nodes as they are written; tried, and offered."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import polars as pl

from audit.data.asking.seen import HALF, NEARLY_ALL, labels_of, read
from audit.data.columns import AS_WRITTEN, Columns
from audit.data.nodes import Nodes, Share

TRIED = 1_000
"""Number of different cells on which a way is tried."""
_SIGNS = (",", ";", "|", " ", "~", "*", ":", "/", "+", "&")
"""What may join labels, in the order in which they are tried."""
_ENDS = (1, 2, 3, 7, 8)
"""Lengths of common ends: a letter or two, ``.00``, ``-ICD9CM``, ``(ICD10)``."""
_LONGEST = 40
"""Number of characters of a common beginning."""
_SEVERAL = 12
"""Largest number of different words that may all stand for no code."""


@dataclass(frozen=True)
class Way:
    """One way to read cells.

    Args:
        options: What states it, by arguments of `audit.load_labels`; empty: as they are written.
        share: How many labels are nodes so; a cell without a label is none.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    share: Share = field(default_factory=Share)


def best_way(cells: pl.DataFrame, nodes: Nodes, stated: Columns = AS_WRITTEN) -> Way:
    """The way of most complete codes among those by which half of the labels are such.

    A way must give a twentieth more than one that states less, or leave fewer others; what finds
    labels in a text comes before a sign and words or titles. Cells of which nine in ten are nodes
    are read as they are written.

    Args:
        cells: ``cell, rows``, cells as text.
        nodes: The nodes that labels may be.
        stated: What is stated of cells and labels.
    """
    some = cells.gather_every(max(1, -(-cells.height // TRIED)))
    best = _tried({}, some, nodes, stated)
    if best.share.of_complete >= NEARLY_ALL or some.is_empty():
        return best
    taking = None
    for options in _ways(some, nodes, stated):
        way = _tried(options, some, nodes, stated)
        own, held = way.share, best.share
        more = own.complete > 1.05 * held.complete + 0.5
        rest = own.complete >= held.complete and own.of_complete > held.of_complete + 0.05
        if own.of_complete >= HALF and (more or (rest and "take" not in options)):
            best = way
        if "take" in options and (own.complete >= held.complete or own.of_complete >= NEARLY_ALL):
            taking = way
    found = _without_words(best, some, nodes, stated)
    besides = {*found.options} & {"missing", "by_title"}
    return taking if taking and besides and "sep" in found.options else found


def _tried(options: Mapping[str, Any], cells: pl.DataFrame, nodes: Nodes, stated: Columns) -> Way:
    columns = replace(stated, **options)
    share = nodes.share(read(labels_of(cells, columns, TRIED), nodes, columns))
    least = cells.filter(~pl.col("cell").is_in(columns.missing))["rows"].sum()
    return Way(options, replace(share, n=max(share.n, int(least))))


def _ways(cells: pl.DataFrame, nodes: Nodes, stated: Columns) -> Iterator[Mapping[str, Any]]:
    """Options to try, those that state least first."""
    texts = cells["cell"]
    if not stated.by_title:
        yield {"by_title": True}
    for off in _around(cells, nodes):
        yield {"strip": (*stated.strip, *off)}
    if stated.sep or stated.take:
        return
    for sign in _SIGNS:
        if texts.str.contains(sign, literal=True).any():
            yield {"sep": sign}
            if not stated.by_title and not nodes.coded:
                yield {"sep": sign, "by_title": True}
    if not texts.str.contains(r"^-?[0-9]+(\.[0-9]+)?$").all() and (take := _taking(nodes)):
        yield {"take": take}


def _taking(nodes: Nodes) -> str:
    """What finds nodes in a text: codes of ICD, or ids of one shape, such as ``GO:[0-9]+``."""
    if nodes.coded:
        return nodes.hierarchy.name.removesuffix("cm")
    shapes = Counter(re.sub("[0-9]+", "#", one) for one in nodes.hierarchy.nodes)
    ((shape, n),) = shapes.most_common(1)
    if n < HALF * len(nodes.hierarchy) or not re.search(r"\w*[^\W\d]\W?#", shape):
        return ""
    ids = re.escape(shape).replace(r"\#", "[0-9]+")
    return (r"\b" if shape[0].isalnum() else "") + ids + r"\b"


def _around(cells: pl.DataFrame, nodes: Nodes) -> list[tuple[str, ...]]:
    """Common beginnings and ends of labels that are no nodes, the most frequent first; then two
    ends of one length."""
    ends, begins = Counter[str](), Counter[str]()
    for text, rows in cells.iter_rows():
        if not nodes.is_node(text):
            ends.update({text[-n:]: rows for n in _ENDS if len(text) > n})
            bounds = [at.end() for at in re.finditer(r"[^A-Za-z0-9.]+", text[:_LONGEST])]
            begins.update({text[:at]: rows for at in (1, *bounds) if at < len(text)})
    first = [one for one, _ in ends.most_common(8)]
    pairs = [(a, b) for a, b in combinations(first, 2) if len(a) == len(b) > 1]
    return [*((one,) for one in first[:4]), *((o,) for o, _ in begins.most_common(4)), *pairs]


def _without_words(best: Way, cells: pl.DataFrame, nodes: Nodes, stated: Columns) -> Way:
    """The way that takes words without a digit for no code, where nodes have digits, labels are no
    titles, and others are nearly all nodes."""
    columns = replace(stated, **best.options)
    if best.share.of_complete >= NEARLY_ALL or not nodes.have_digits or columns.by_title:
        return best
    labels = labels_of(cells, columns, TRIED)
    refused = [one for one in labels if not any(map(nodes.is_node, read({one: 1}, nodes, columns)))]
    nothing = [one for one in refused if not re.search(r"\d", one) and one not in columns.missing]
    if not 0 < len(nothing) <= _SEVERAL:
        return best
    options = {**best.options, "missing": (*columns.missing, *nothing)}
    way = _tried(options, cells, nodes, stated)
    return way if way.share.of_complete > max(HALF, best.share.of_complete) else best
