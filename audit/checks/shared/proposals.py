"""What checks propose to change: labels of instances to replace, remove, add or look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import schema
from audit.checks.shared.written_labels import written_labels
from audit.measure.measure import Measurements, once

Change: TypeAlias = Literal["replace", "remove", "add", "review"]
Certainty: TypeAlias = Literal["certain", "review"]

PROPOSED = schema(
    ("instance", pl.UInt32),
    ("label table change proposed", pl.String),
    ("candidates", pl.List(pl.String)),
    ("certainty reason", pl.String),
    ("keep", pl.UInt32),
)
"""Columns of what a check proposes, a row a change.

``instance`` (index), ``label`` as written (null: one to add), ``table`` (its code set, null if
none is known), ``change``, ``proposed`` (the label to write, null where there is none or several
``candidates``), ``certainty`` (``certain``: it follows from the file or the
classification; ``review``: a person must look), ``reason``, and ``keep``: how many of equal labels
of the instance stay, where one is removed.
"""
MOST_CANDIDATES = 5
"""Number of candidates that are named of one change."""


def proposals(
    found: pl.DataFrame, change: Change, certainty: Certainty, reason: str, *, keep: int = 0
) -> pl.DataFrame:
    """Rows of `PROPOSED` of a frame with at least ``instance``; columns that it lacks are null."""
    said = {"change": change, "certainty": certainty, "reason": reason, "keep": keep}
    own = {name: pl.col(name) for name in found.columns if name in PROPOSED}
    known = {name: pl.lit(said.get(name)) for name in PROPOSED} | own
    return found.select(known[name].cast(kind).alias(name) for name, kind in PROPOSED.items())


def of_lines(measured: Measurements, labels: pl.DataFrame) -> pl.DataFrame:
    """A row for each instance and each of some labels on it: ``instance``, columns of labels."""
    lines = labels.with_columns(pl.col("line").cast(pl.UInt32))
    return measured.loaded.dataset.written.join(lines, on="line").sort("instance", "line")


@once
def as_in_data(measured: Measurements) -> Callable[[str], str]:
    """A function that writes a node as the data do: as most rows write it, else in their style."""
    signs, own = (pl.col(name).str.replace_all(r"[.\s]", "") for name in ("label", "node"))
    lost = (signs != own) & (signs.str.strip_chars("0") == own.str.strip_chars("0"))
    labels = (
        written_labels(measured)
        .drop_nulls("node")
        .sort(["rows", "label"], descending=[True, False])
        .filter(~lost)
        .with_columns(pl.col("label").str.strip_chars())
    )
    first = labels.unique("node", keep="first", maintain_order=True)
    usual = dict(first.select("node", "label").iter_rows())
    dotted = labels.filter(pl.col("node").str.contains(r"\."))
    bare = dotted.filter(pl.col("label") == pl.col("node").str.replace_all(r"\.", ""))
    without_dots = 2 * int(bare["rows"].sum()) > int(dotted["rows"].sum())
    return lambda node: usual.get(node) or (node.replace(".", "") if without_dots else node)


def by_candidates(
    measured: Measurements, labels: pl.DataFrame, reason: str, *, of_one: str = ""
) -> pl.DataFrame:
    """Proposals for labels each of which may be one of several nodes.

    One that may be a single node is replaced by it, for certain if ``of_one`` says why; a person
    must look at all others, also at those that may be none.

    Args:
        labels: ``line, label, table, candidates``; candidates are nodes.
    """
    some = labels.select("line", "label", "table", "candidates")
    written, kind = as_in_data(measured), pl.List(pl.String)
    first = some["candidates"].cast(kind).list.head(MOST_CANDIDATES)
    named = [[*map(written, nodes)] for nodes in first]
    found = of_lines(measured, some.with_columns(candidates=pl.Series(named, dtype=kind)))
    many = pl.col("candidates").list.len()
    sure: Certainty = "certain" if of_one else "review"
    one = found.filter(many == 1).with_columns(proposed=pl.col("candidates").list.first())
    replaced = proposals(one.drop("candidates"), "replace", sure, of_one or reason)
    several = proposals(found.filter(many > 1), "review", "review", reason)
    none = proposals(found.filter(many == 0), "review", "review", "it has no candidate")
    return pl.concat([replaced, several, none])


def near_codes(measured: Measurements, labels: pl.DataFrame) -> pl.DataFrame:
    """What labels that are no nodes may be a slip of, the nodes of most records first.

    Returns:
        As `PROPOSED`.
    """
    hierarchy, support = measured.hierarchy, measured.direct_support
    places = np.flatnonzero(hierarchy.assignable | (support > 0)).tolist()
    known = {hierarchy.nodes[place].replace(".", ""): place for place in places}
    signs = "".join(sorted({sign for text in known for sign in text}))
    near = list[list[str]]()
    for label in labels["label"]:
        found = (
            known[text] for text in one_edit_away(label.strip().replace(".", ""), signs, {*known})
        )
        near.append([hierarchy.nodes[i] for i in sorted(found, key=lambda i: (-support[i], i))])
    candidates = pl.Series("candidates", near, pl.List(pl.String))
    said = "this code is one edit away: a sign other, more, lost, or exchanged with the next"
    return by_candidates(measured, labels.with_columns(candidates), said)


def one_edit_away(label: str, signs: str, known: Set[str]) -> set[str]:
    """The known texts that a label is one edit from, each other sign being one of ``signs``.

    >>> sorted(one_edit_away("4109", "0149", {"4019", "41", "410", "41009", "41093", "4109"}))
    ['4019', '410', '41009']
    """
    ends = [(label[:n], label[n:]) for n in range(len(label) + 1)]
    near = {before + sign + after for before, after in ends for sign in signs}
    near |= {before + sign + after[1:] for before, after in ends[:-1] for sign in ("", *signs)}
    near |= {before + after[1] + after[0] + after[2:] for before, after in ends[:-2]}
    return near & known - {label}


def carried_as(
    measured: Measurements, instances: IntArray, nodes: IntArray | Sequence[int]
) -> pl.DataFrame:
    """Labels as written at any of the nodes: ``instance, label, table, node, with_zeros``."""
    names = [measured.hierarchy.nodes[node] for node in nodes]
    labels = written_labels(measured).filter(pl.col("node").is_in(names))
    chosen = pl.Series(instances.astype(np.uint32)).implode()
    found = of_lines(measured, labels.select("line", "label", "node", "with_zeros", table="stated"))
    return found.filter(pl.col("instance").is_in(chosen)).drop("line")
