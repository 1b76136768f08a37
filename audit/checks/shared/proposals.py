"""What checks propose to change: labels of instances to replace, remove, add or look at."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.declared import schema
from audit.checks.shared.written_labels import (
    LOST_ZERO,
    MAYBE_LOST_ZERO,
    written_labels,
    zeros_are_lost,
)
from audit.measure.measure import Measurements, once

Change: TypeAlias = Literal["replace", "remove", "add", "review"]
Certainty: TypeAlias = Literal["certain", "likely", "review"]

PROPOSED = schema(
    ("instance", pl.UInt32),
    ("label table change proposed", pl.String),
    ("candidates", pl.List(pl.String)),
    ("probability", pl.Float64),
    ("certainty reason", pl.String),
    ("keep", pl.UInt32),
)
"""Columns of what a check proposes, a row a change.

``instance`` (index), ``label`` as written (null: one to add), ``table`` (its code set, null if none
is known), ``change``, ``proposed`` (the label to write, null where there is none or several
``candidates``), ``probability`` (of the proposed label, where scores tell it), ``certainty``
(``certain``: it follows from the file or the classification; ``likely``: it is the only candidate,
or scores say so; ``review``: a person must look), ``reason``, and ``keep``: how
many of equal labels of the instance stay, where one is removed.
"""
MOST_CANDIDATES = 5
"""Number of candidates that are named of one change."""


def proposals(
    found: pl.DataFrame,
    change: Change,
    certainty: Certainty,
    reason: str | pl.Expr,
    *,
    keep: int = 0,
) -> pl.DataFrame:
    """Rows of `PROPOSED` of a frame with at least ``instance``; columns that it lacks are null."""
    said = {"change": change, "certainty": certainty, "reason": reason, "keep": keep}
    alike = {name: pl.lit(one) if isinstance(one, str | int) else one for name, one in said.items()}
    own = {name: pl.col(name) for name in found.columns if name in PROPOSED}
    known = dict.fromkeys(PROPOSED, pl.lit(None)) | alike | own
    return found.select(known[name].cast(kind).alias(name) for name, kind in PROPOSED.items())


def of_lines(measured: Measurements, labels: pl.DataFrame) -> pl.DataFrame:
    """A row for each instance with one of some labels: ``instance``, and the columns of these."""
    lines = labels.with_columns(pl.col("line").cast(pl.UInt32))
    return measured.loaded.dataset.written.join(lines, on="line").sort("instance", "line")


def as_in_data(measured: Measurements) -> Callable[[str], str]:
    """A function that writes a node as the data do: as most rows write it, else in their style."""
    usual, without_dots = _spellings(measured)
    return lambda node: usual.get(node) or (node.replace(".", "") if without_dots else node)


@once
def _spellings(measured: Measurements) -> tuple[dict[str, str], bool]:
    """The usual spelling of each carried node, and whether codes are without dots."""
    signs, own = (pl.col(name).str.replace_all(r"[.\s]", "") for name in ("label", "node"))
    lost = (signs != own) & (signs.str.strip_chars("0") == own.str.strip_chars("0"))
    labels = (
        written_labels(measured)
        .drop_nulls("node")
        .sort(["rows", "label"], descending=[True, False])
        .filter(~lost)
    )
    first = labels.unique("node", keep="first", maintain_order=True)
    dotted = labels.filter(pl.col("node").str.contains(r"\."))
    bare = dotted.filter(
        pl.col("label").str.strip_chars() == pl.col("node").str.replace_all(r"\.", "")
    )
    spelled = pl.col("label").str.strip_chars()
    usual = dict(first.select("node", spelled).iter_rows())
    return usual, 2 * int(bare["rows"].sum()) > int(dotted["rows"].sum())


def by_candidates(
    measured: Measurements, labels: pl.DataFrame, reason: str, *, of_one: str = ""
) -> pl.DataFrame:
    """Proposals for labels each of which may be one of several nodes; none where there are none.

    One that may be a single node is replaced by it, for certain if ``of_one`` says why. Of others
    a person must look.

    Args:
        labels: ``line, label, table, candidates``; candidates are nodes.
    """
    found = labels.select("line", "label", "table", "candidates")
    found = of_lines(measured, found.filter(pl.col("candidates").list.len() > 0))
    told = found.with_columns(_named(measured, found["candidates"]))
    alone = pl.col("candidates").list.len() == 1
    one = told.filter(alone).with_columns(proposed=pl.col("candidates").list.first())
    sure: Certainty = "certain" if of_one else "likely"
    replaced = proposals(one.drop("candidates"), "replace", sure, of_one or reason)
    return together([replaced, proposals(told.filter(~alone), "review", "review", reason)])


def _named(measured: Measurements, candidates: pl.Series) -> pl.Series:
    """The first candidates of each row as the data write them."""
    written, kind = as_in_data(measured), pl.List(pl.String)
    first = candidates.cast(kind).list.head(MOST_CANDIDATES)
    return first.map_elements(lambda own: [*map(written, own)], kind)


def most_carried_first(measured: Measurements, nodes: Iterable[str]) -> list[str]:
    """Nodes in the order of how many records carry them."""
    support, hierarchy = measured.direct_support, measured.hierarchy
    return sorted(nodes, key=lambda node: -support[hierarchy.index(node)])


def near_codes(measured: Measurements, labels: pl.DataFrame) -> pl.DataFrame:
    """What labels that are no nodes may be a slip of, the likeliest slip first.

    Returns:
        As `PROPOSED`; no row for a label that is near no node that may be one.
    """
    known, signs = _nodes_as_text(measured)
    texts, near = [*known], list[list[str]]()
    for label in labels["label"]:
        found = slips(label.strip().replace(".", ""), texts, known, signs)
        near.append([known[text] for text in sorted(found, key=lambda text: -found[text])])
    candidates = pl.Series("candidates", near, pl.List(pl.String))
    said = (
        "it is one slip from this code: a sign other, doubled, lost or exchanged, or its end lost"
    )
    return by_candidates(measured, labels.with_columns(candidates), said)


@once
def _nodes_as_text(measured: Measurements) -> tuple[dict[str, str], str]:
    """Nodes that may be labels by their text without dots, in order, and the signs of these."""
    hierarchy = measured.hierarchy
    may_be = hierarchy.assignable | (measured.direct_support > 0)
    nodes = [hierarchy.nodes[place] for place in np.flatnonzero(may_be).tolist()]
    known = dict(sorted((node.replace(".", ""), node) for node in nodes))
    return known, "".join(sorted({sign for text in known for sign in text}))


def slips(label: str, texts: Sequence[str], known: Container[str], signs: str) -> dict[str, float]:
    """The known texts that a label is one slip from, each with the chance that it is written so.

    A sign is lost, doubled, exchanged with the next, or another; there is one more; or the end is
    lost, half of the text at most. These are equally frequent, at each place, and so is each other
    sign; the chances are up to a factor.

    Args:
        texts: The known texts, sorted.
        known: The same.
        signs: All of theirs.

    >>> known = ["4019", "41", "410", "41009", "41093"]
    >>> {text: round(one, 3) for text, one in slips("4109", known, known, "019").items()}
    {'4019': 0.25, '410': 0.111, '41009': 0.4}
    >>> [*slips("410", known, known, "019")]
    ['41', '41009', '41093']
    """
    rare, each, found = 1 / len(signs), list[tuple[str, float]](), dict[str, float]()
    for n in range(len(label) + 1):
        a, b = label[:n], label[n:]
        each.extend((a + sign + b, 1) for sign in signs)
        if b:
            each.append((a + b[1:], 1 if a.endswith(b[0]) else rare))
            each.extend((a + sign + b[1:], rare) for sign in signs)
        if len(b) > 1:
            each.append((a + b[1] + b[0] + b[2:], 1))
    longer = texts[bisect_left(texts, label) : bisect_right(texts, label + chr(0x10FFFF))]
    each.extend((text, 1) for text in longer if len(label) + 1 < len(text) <= 2 * len(label))
    for text, chance in each:
        if text in known and text != label:
            found[text] = found.get(text, 0.0) + chance / len(text)
    return {text: found[text] for text in sorted(found)}


def together(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Proposals one below the other; no row of none."""
    return pl.concat([pl.DataFrame(schema=PROPOSED), *frames])


def unsure_of_zeros(measured: Measurements, proposed: pl.DataFrame) -> pl.DataFrame:
    """Proposals, of which none is sure of a label that may have lost its first zeros, where some
    did.

    Its codes with zeros are the first candidates: `389` is a heading, or what is left of 038.9.
    """
    if measured.hierarchy.integrity is None or not zeros_are_lost(measured):
        return proposed
    maybe = written_labels(measured).filter(LOST_ZERO | MAYBE_LOST_ZERO)
    written, names = as_in_data(measured), ["label", "table"]
    texts = maybe["label"].str.replace_all(r"\.", "")
    said = [
        [written(code) for code in own if not code.replace(".", "").startswith(label)]
        for label, own in zip(texts, maybe["with_zeros"], strict=True)
    ]
    zeros = maybe.select(*names, zeros=pl.Series(said, dtype=pl.List(pl.String)))
    found = proposed.join(zeros, on=names, how="left", nulls_equal=True, maintain_order="left")
    other = pl.coalesce("candidates", pl.concat_list(pl.col("proposed")))
    named = pl.coalesce("proposed", pl.col("candidates").list.first())
    itself = pl.col("zeros").list.contains(named).fill_null(value=False)
    doubtful = (pl.col("zeros").list.len() > 0) & ~itself
    held_back = {
        "change": pl.lit("review"),
        "certainty": pl.lit("review"),
        "proposed": pl.lit(None),
        "probability": pl.lit(None),
        "candidates": pl.concat_list("zeros", other.list.drop_nulls()).list.head(MOST_CANDIDATES),
        "keep": pl.lit(0),
        "reason": pl.format("zeros may be lost of it; else {}", "reason"),
    }
    return found.with_columns(
        pl.when(doubtful).then(new).otherwise(name).cast(PROPOSED[name]).alias(name)
        for name, new in held_back.items()
    ).select([*PROPOSED])


def with_instances(indices: IntArray) -> pl.DataFrame:
    """A frame of the column ``instance``."""
    return pl.DataFrame({"instance": indices.astype(np.uint32)})


def carried_as(
    measured: Measurements, instances: IntArray, nodes: IntArray | Sequence[int]
) -> pl.DataFrame:
    """``instance, label, table, node``: how instances write nodes that are their labels."""
    names = [measured.hierarchy.nodes[node] for node in nodes]
    labels = written_labels(measured).filter(pl.col("node").is_in(names))
    chosen = pl.Series(instances.astype(np.uint32)).implode()
    found = of_lines(measured, labels.select("line", "label", "node", table="stated"))
    return found.filter(pl.col("instance").is_in(chosen)).drop("line")


def siblings_of_residual(measured: Measurements, instances: IntArray, parent: str) -> pl.DataFrame:
    """Rows of `PROPOSED` that ask to look at the residual labels of instances below a node.

    Candidates are the specific labels in use below it that are not above the label itself, those
    of most records first.
    """
    hierarchy = measured.hierarchy
    below = np.array([*map(hierarchy.index, hierarchy.descendants(parent))], np.int64)
    residual = np.isin(below, [*measured.residual])
    specific = below[~residual & (measured.direct_support[below] > 0)]
    names = most_carried_first(measured, (hierarchy.nodes[node] for node in specific))
    found = carried_as(measured, instances, below[residual])
    nodes = found["node"].unique()
    offered = [
        [one for one in names if one not in hierarchy.ancestors(node)] or None for node in nodes
    ]
    candidates = _named(measured, pl.Series(offered, dtype=pl.List(pl.String)))
    beside = pl.DataFrame([nodes, candidates.alias("candidates")])
    told = found.join(beside, on="node", how="left", maintain_order="left")
    said = "it is a catch-all; these are specific labels beside it, those of most records first"
    return proposals(told, "review", "review", said)
