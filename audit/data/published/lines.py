"""Lines of an id and its labels, without a header: ``id<TAB>a;b;c`` and ``id|a|b|c``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import polars as pl

from audit.base.files import first_bytes, refuse_pickle
from audit.base.streams import bare_suffix, text_stream
from audit.base.table import Table, TextLines
from audit.data.nodes import Nodes
from audit.data.published.wanted import Wanted

_LOOKED_AT = 50
"""Number of lines by which a file is known."""
_SUFFIXES = ("", ".csv", ".tsv", ".tab", ".psv", ".txt", ".assoc")
_SEPS = {"\t": ";", "|": "|"}
"""What joins labels behind a sign that stands behind an id."""
_ODD = frozenset("\t ,;|{")
"""Signs that are in no id."""
_SCHEMA = {"instance": pl.String(), "labels": pl.List(pl.String())}


def lines_of(path: Path, wanted: Wanted, encoding: str = "") -> Table | None:
    """The table of a text of such lines, in which some label is a node; None of others."""
    if not path.is_file() or bare_suffix(path) not in _SUFFIXES:
        return None
    refuse_pickle(path, first_bytes(path))
    with text_stream(path, encoding) as stream:
        lines = [line.strip("\n") for line in islice(filter(str.strip, stream), _LOOKED_AT)]
    behind = next((sign for sign in _SEPS if _fit(lines, sign, wanted.nodes)), None)
    if behind is None:
        return None

    def scan(columns: Sequence[str], at_once: int) -> Iterator[pl.DataFrame]:
        with text_stream(path, encoding) as stream:
            some = filter(str.strip, stream)
            while rows := [_parted(line, behind) for line in islice(some, at_once)]:
                yield pl.DataFrame(rows, _SCHEMA, orient="row").select(columns)

    text = TextLines(first=tuple(lines), header=False)
    return Table(str(path), _SCHEMA, scan, (path,), text, layout="lines")


def _parted(line: str, behind: str) -> tuple[str | None, list[str]]:
    own, _, labels = line.partition(behind)
    every = (label.strip() for label in labels.split(_SEPS[behind]))
    return own.strip() or None, [label for label in every if label]


def _fit(lines: Sequence[str], behind: str, nodes: Nodes) -> bool:
    """Whether lines are no table of as many fields each, and the first is no header."""
    sep, widths = _SEPS[behind], {line.count(behind) for line in lines}
    joined = len(widths) > 1 if sep == behind else widths == {1} and any(sep in x for x in lines)
    rows = [_parted(line, behind) for line in lines if joined]
    if not rows or any(own is None or not _ODD.isdisjoint(own) for own, _ in rows):
        return False
    first = next((labels for _, labels in rows if labels), [])
    return any(map(nodes.is_node, first))
