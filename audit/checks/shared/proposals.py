"""What checks propose to change: labels of instances to replace, remove, add or look at."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from audit.base.dag import IntArray
from audit.base.schemas import schema
from audit.checks.shared.labels_as_written import (
    LOST_ZERO,
    MAYBE_LOST_ZERO,
    integrity_of,
    mapped,
    read_again,
    zeros_are_lost,
)
from audit.checks.shared.likely_codes import likelihoods
from audit.data.sources.events import code_set
from audit.hierarchies.label_words import MARKS, unwrapped
from audit.hierarchies.titles import title_key
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
``candidates``), ``probability`` (of the proposed label; null unless it is likely), ``certainty``
(``certain``: it follows from the file or the classification; ``likely``: one candidate is more
probable than all others together; ``review``: a person must look), ``reason``, and ``keep``: how
many of equal labels of the instance stay, where one is removed.
"""
MOST_CANDIDATES = 5
"""Number of candidates that are named of one change."""
LIKELY = 0.5
"""Probability above which one candidate is proposed."""
_BETWEEN = "\x1f"
"""Between candidates in one text."""


def proposals(
    found: pl.DataFrame,
    change: Change,
    certainty: Certainty,
    reason: str | pl.Expr,
    *,
    keep: int = 0,
) -> pl.DataFrame:
    """Rows of `PROPOSED` of a frame with at least ``instance``; columns that it lacks are null."""
    said = reason if isinstance(reason, pl.Expr) else pl.lit(reason)
    alike = {
        "change": pl.lit(change),
        "certainty": pl.lit(certainty),
        "reason": said,
        "keep": pl.lit(keep),
    }
    known = {**alike, **{name: pl.col(name) for name in found.columns if name in PROPOSED}}
    columns = [
        known.get(name, pl.lit(None)).cast(kind).alias(name) for name, kind in PROPOSED.items()
    ]
    return found.select(columns)


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
    """The most frequent spelling of each node that is carried, with all of its zeros; whether codes
    are without dots."""
    signs, own = (pl.col(name).str.replace_all(r"[.\s]", "") for name in ("label", "node"))
    lost = (signs != own) & (signs.str.strip_chars("0") == own.str.strip_chars("0"))
    labels = mapped(measured).sort(["rows", "label"], descending=[True, False]).filter(~lost)
    first = labels.unique("node", keep="first", maintain_order=True)
    dotted = labels.filter(pl.col("node").str.contains(r"\."))
    bare = dotted.filter(
        pl.col("label").str.strip_chars() == pl.col("node").str.replace_all(r"\.", "")
    )
    spelled = pl.col("label").str.strip_chars()
    usual = dict(first.select("node", spelled).iter_rows())
    return usual, 2 * int(bare["rows"].sum()) > int(dotted["rows"].sum())


def by_candidates(
    measured: Measurements, found: pl.DataFrame, reason: str, *, of_one: str = ""
) -> Iterator[pl.DataFrame]:
    """Proposals for labels each of which may be one of several nodes.

    One that may be a single node is replaced by it for certain if ``of_one`` says why. Of others
    the nodes are weighed by the other labels of the record; where one of them is more probable than
    all others together it is likely, else a person must look.

    Args:
        found: ``instance, label, table, candidates``; candidates are nodes, at least one. Where
            there is a column ``chances``, it says how probable the label is of each.
    """
    written = as_in_data(measured)
    alone = pl.col("candidates").list.len() == 1
    sure = found.filter(alone) if of_one else found.clear()
    if len(sure):
        said = [written(one) for one in sure["candidates"].list.first()]
        yield proposals(
            sure.with_columns(proposed=pl.Series(said, dtype=pl.String)).drop("candidates"),
            "replace",
            "certain",
            of_one,
        )
    rest = found.filter(~alone) if of_one else found
    if len(rest):
        yield from _weighed(measured, rest, reason, written)


def _weighed(
    measured: Measurements, found: pl.DataFrame, reason: str, written: Callable[[str], str]
) -> Iterator[pl.DataFrame]:
    told = weighed(measured, found, written)
    likely = pl.col("probability") > LIKELY
    one = told.filter(likely).with_columns(proposed=pl.col("candidates").list.first())
    yield proposals(one, "replace", "likely", reason)
    yield proposals(told.filter(~likely).drop("probability"), "review", "review", reason)


def weighed(
    measured: Measurements, found: pl.DataFrame, written: Callable[[str], str]
) -> pl.DataFrame:
    """The frame with its ``candidates`` as the data write them, the most probable first, and the
    ``probability`` of the first."""
    rows_of = _by_set(found["candidates"])
    instances = found["instance"].to_numpy().astype(np.int64)
    asked = {own: instances[rows] for own, rows in rows_of.items()}
    none = pl.DataFrame(schema={"row": pl.Int64, "candidates": pl.String})
    best, ranked = np.zeros(len(found)), [none]
    weights = likelihoods(measured, asked)
    for (own, rows), of_rows in zip(rows_of.items(), weights, strict=True):
        if "chances" in found.columns:
            of_rows = of_rows * np.array(found["chances"].gather(rows).to_list())
            of_rows /= of_rows.sum(axis=1, keepdims=True)
        order = np.argsort(-of_rows, axis=1, kind="stable")[:, :MOST_CANDIDATES]
        best[rows] = of_rows[np.arange(len(rows)), order[:, 0]]
        said = pl.Series([written(code) for code in own], dtype=pl.String)
        flat = {"row": np.repeat(rows, order.shape[1]), "candidates": said.gather(order.ravel())}
        ranked.append(pl.DataFrame(flat))
    named = pl.concat(ranked).group_by("row", maintain_order=True).agg("candidates").sort("row")
    return found.with_columns(named["candidates"], pl.Series("probability", best, pl.Float64))


def _by_set(candidates: pl.Series) -> dict[tuple[str, ...], IntArray]:
    """The numbers of the rows that have the same candidates, by these."""
    keys = candidates.list.join(_BETWEEN).alias("key").to_frame().with_row_index("row")
    grouped = keys.group_by("key", maintain_order=True).agg("row")
    return {tuple(key.split(_BETWEEN)): np.array(rows, np.int64) for key, rows in grouped.rows()}


def near_codes(measured: Measurements, labels: pl.DataFrame) -> pl.DataFrame:
    """What labels that are no nodes may be a slip of, weighed by the other labels of the record.

    Returns:
        As `PROPOSED`; no row for a label that is near no node that may be one.
    """
    known, signs = _nodes_as_text(measured)
    wrapped = [_unwrapped(measured, *row) for row in labels.select("label", "table").rows()]
    held = labels.with_columns(pl.Series("found", wrapped, pl.List(pl.String)))
    rest = labels.filter(held["found"].is_null())
    texts = [*known]
    near = [_near(label, known, texts, signs) for label in rest["label"].to_list()]
    found = rest.select("line", "label", "table").with_columns(
        pl.Series("candidates", [[*one] for one in near], pl.List(pl.String)),
        pl.Series("chances", [[*one.values()] for one in near], pl.List(pl.Float64)),
    )
    found = of_lines(measured, found.filter(pl.col("candidates").list.len() > 0))
    said = (
        "it is one slip from this code: a sign other, doubled, lost or exchanged, or its end lost"
    )
    return together([*_out_of(measured, held), *by_candidates(measured, found, said)])


def _unwrapped(measured: Measurements, label: str, table: str | None) -> tuple[str, str] | None:
    """A node that stands in a label with something around it, and why only that goes; empty where
    somebody must say what it means."""
    hierarchy = measured.hierarchy

    def is_node(text: str, table: str | None) -> bool:
        return hierarchy.place(text, table).listed

    found = unwrapped(label, table, is_node, hierarchy.integrity is not None)
    if found is None:
        return None
    core, around = found
    node, of_set = hierarchy.place(core, table).node or "", code_set(around)
    if not around:
        return core, "it is this code with marks around it, which are part of no code"
    if title_key(around.strip(f"{MARKS}-")) == title_key(hierarchy.titles[hierarchy.index(node)]):
        return core, "it is this code with its title beside it"
    if of_set and hierarchy.place(core, of_set).listed:
        return core, "it is this code with the name of its classification beside it"
    return core, ""


def _out_of(measured: Measurements, held: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Proposals for labels that hold a node, ``line, label, table, found``: to be the node alone,
    where it is certain that what stands around it says nothing more."""
    core, why = pl.col("found").list.first(), pl.col("found").list.last()
    found = held.filter(pl.col("found").is_not_null())
    found = of_lines(measured, found.select("line", "label", "table", core=core, why=why))
    sure, rest = found.filter(pl.col("why") != ""), found.filter(pl.col("why") == "")
    yield proposals(sure.with_columns(proposed="core"), "replace", "certain", pl.col("why"))
    said = "this code stands in it; what stands beside the code may say how sure it is, or more"
    asked = rest.with_columns(candidates=pl.concat_list("core"))
    yield proposals(asked, "review", "review", said)


@once
def _nodes_as_text(measured: Measurements) -> tuple[dict[str, str], str]:
    """Nodes that may be labels by their text without dots, in order, and the signs of these."""
    hierarchy = measured.hierarchy
    may_be = hierarchy.assignable | (measured.direct_support > 0)
    nodes = [hierarchy.nodes[place] for place in np.flatnonzero(may_be).tolist()]
    known = dict(sorted((node.replace(".", ""), node) for node in nodes))
    return known, "".join(sorted({sign for text in known for sign in text}))


def _near(
    label: str, known: Mapping[str, str], texts: Sequence[str], signs: str
) -> dict[str, float]:
    found = slips(label.strip().replace(".", ""), texts, known, signs)
    return {known[text]: chance for text, chance in found.items()}


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
    rare, found = 1 / len(signs), dict[str, float]()

    def add(text: str, chance: float) -> None:
        if text in known and text != label:
            found[text] = found.get(text, 0.0) + chance / len(text)

    for n in range(len(label) + 1):
        a, b = label[:n], label[n:]
        for sign in signs:
            add(a + sign + b, 1)
        if b:
            add(a + b[1:], 1 if a.endswith(b[0]) else rare)
            for sign in signs:
                add(a + sign + b[1:], rare)
        if len(b) > 1:
            add(a + b[1] + b[0] + b[2:], 1)
    for text in texts[bisect_left(texts, label) : bisect_right(texts, label + chr(0x10FFFF))]:
        if len(label) + 1 < len(text) <= 2 * len(label):
            add(text, 1)
    return {text: found[text] for text in sorted(found)}


def together(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Proposals one below the other; no row of none."""
    return pl.concat([pl.DataFrame(schema=PROPOSED), *frames])


def unsure_of_zeros(measured: Measurements, proposed: pl.DataFrame) -> pl.DataFrame:
    """Proposals, of which none is sure of a label that may have lost its first zeros, where some
    did.

    Its codes with zeros are the first candidates: `389` is a heading, or what is left of 038.9.
    """
    integrity = integrity_of(measured)
    if integrity is None or not zeros_are_lost(measured, integrity):
        return proposed
    maybe = read_again(measured, integrity).filter(LOST_ZERO | MAYBE_LOST_ZERO)
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
    labels = mapped(measured).filter(pl.col("node").is_in(names))
    chosen = pl.Series(instances.astype(np.uint32)).implode()
    found = of_lines(measured, labels.select("line", "label", "table", "node"))
    return found.filter(pl.col("instance").is_in(chosen)).drop("line")


def siblings_of_residual(measured: Measurements, instances: IntArray, parent: str) -> pl.DataFrame:
    """Rows of `PROPOSED` that ask to look at the residual labels of instances below a node.

    Candidates are the specific labels in use below it that are not above the label itself, the most
    probable first.
    """
    hierarchy = measured.hierarchy
    below = np.array([hierarchy.index(one) for one in hierarchy.descendants(parent)])
    residual = np.isin(below, [*measured.residual])
    specific = below[~residual & (measured.direct_support[below] > 0)]
    names = [hierarchy.nodes[node] for node in specific]
    found = carried_as(measured, instances, below[residual])
    offered = [
        (node, [one for one in names if one not in hierarchy.ancestors(node)])
        for node in found["node"].unique()
    ]
    kinds = schema(("node", pl.String), ("candidates", pl.List(pl.String)))
    beside = pl.DataFrame(offered, kinds, orient="row")
    found = found.join(beside, on="node", how="left", maintain_order="left")
    some = found["candidates"].list.len() > 0
    asked = weighed(measured, found.filter(some), as_in_data(measured))
    rest = found.filter(~some).drop("candidates")
    told = pl.concat([asked, rest], how="diagonal").drop("probability")
    said = "it is a catch-all; these are specific labels beside it, the most fitting first"
    return proposals(told, "review", "review", said)
