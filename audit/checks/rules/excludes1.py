"""excludes1: instances with two codes that an Excludes1 note forbids together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import IntArray, Sparse
from audit.base.declared import Columns
from audit.checks.check import TOP_PARTS, Check, Outcome
from audit.checks.shared.carriers import carrying_both, label_part
from audit.checks.shared.evidence import OF_SOME, PARTS
from audit.hierarchies.coding import Exclusion, Exclusions
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements
from audit.results.findings import (
    Finding,
    Part,
    finding_id,
    share_evidence,
)

_NAME = "excludes1"
_INSTANCES = "instances with at least two labels"


@dataclass(frozen=True)
class _Sides:
    """The two sides of each note as matrices, shape (n_notes, n_nodes), the most specific first."""

    notes: Sequence[Exclusion]
    noted: Sparse
    """1 at the node that has the note."""
    excluded: Sparse
    """1 at each node that it excludes."""


def run(measured: Measurements) -> Outcome:
    """Report each violated note once, with its most frequent pairs of labels.

    A note applies to all codes at or below its node. A pair of labels that several notes exclude is
    reported for the most specific note; a note without pairs of its own is folded into those.
    """
    exclusions = measured.hierarchy.exclusions
    several = int((measured.loaded.dataset.direct.sum(axis=1) > 1).sum())
    if exclusions is None:
        return Outcome(several, _INSTANCES, not_applicable="this hierarchy has no Excludes1 notes")
    sides = _sides(exclusions, measured.hierarchy)
    conflicts = _conflicts(measured, sides)
    return Outcome(
        denominator=several,
        denominator_unit=f"{_INSTANCES} ({_notes_read(exclusions)})",
        findings=tuple(
            _finding(measured, sides, rows, several, exclusions.release)
            for rows in conflicts.sort("note").partition_by("note", maintain_order=True)
        ),
    )


def _notes_read(exclusions: Exclusions) -> str:
    read = len(exclusions.notes)
    every = read + len(exclusions.unparsed)
    return f"{read:,} of {every:,} notes of release {exclusions.release} name only codes"


def _sides(exclusions: Exclusions, hierarchy: Hierarchy) -> _Sides:
    def breadth(note: Exclusion) -> tuple[bool, int, str, tuple[str, ...]]:
        depth = [int(hierarchy.depth[hierarchy.index(node)]) for node in note.excluded]
        noted = int(hierarchy.depth[hierarchy.index(note.node)])
        return note.wide, -noted - min(depth), note.node, note.excluded

    notes = sorted(_merged(exclusions.notes), key=breadth)
    return _Sides(
        notes=notes,
        noted=_indicator(hierarchy, [(note.node,) for note in notes]),
        excluded=_indicator(hierarchy, [note.excluded for note in notes]),
    )


def _merged(notes: Sequence[Exclusion]) -> Iterator[Exclusion]:
    """The notes that exclude something; those of a node that exclude the same are one."""
    texts: dict[tuple[str, tuple[str, ...], bool], list[str]] = {}
    for note in notes:
        if note.excluded:
            texts.setdefault((note.node, note.excluded, note.wide), []).append(note.text)
    for (node, excluded, wide), said in texts.items():
        yield Exclusion(node, excluded, "”, “".join(said), wide)


def _indicator(hierarchy: Hierarchy, nodes: Sequence[tuple[str, ...]]) -> Sparse:
    """1 at the nodes of each row, shape (n_rows, n_nodes)."""
    indptr = np.cumsum([0, *(len(some) for some in nodes)])
    columns = np.array([hierarchy.index(node) for some in nodes for node in some], np.int64)
    ones = np.ones(len(columns), np.int64)
    return csr_array((ones, columns, indptr), shape=(len(nodes), len(hierarchy)))


def _conflicts(measured: Measurements, sides: _Sides) -> pl.DataFrame:
    """``note, instance, label, other, told_by``: a row for two labels that a note keeps apart.

    ``label`` is on the note's side, ``other`` excluded; ``told_by`` is the most specific of the
    notes that keep the two apart.
    """
    carriers = measured.loaded.carriers
    meetings = csr_array((sides.noted @ carriers).multiply(sides.excluded @ carriers))
    met = _places(meetings, "note", "instance")
    labels = met.join(_places(measured.loaded.dataset.direct, "instance", "label"), on="instance")
    left, right = (
        labels.join(_labels_below(measured, side), on=["note", "label"], how="semi")
        for side in (sides.noted, sides.excluded)
    )
    pair = (pl.min_horizontal("label", "other"), pl.max_horizontal("label", "other"))
    return left.join(right.rename({"label": "other"}), on=["note", "instance"]).with_columns(
        pl.col("note").min().over(pair).alias("told_by")
    )


def _labels_below(measured: Measurements, side: Sparse) -> pl.DataFrame:
    """``note, label``: the labels in use at or below the nodes of one side of each note."""
    used = np.flatnonzero(measured.direct_support)
    below = csr_array(side @ csr_array(measured.hierarchy.below[:, used]))
    found = _places(below, "note", "place")
    return found.select("note", pl.Series("label", used[found["place"].to_numpy()]))


def _places(matrix: Sparse, row: str, column: str) -> pl.DataFrame:
    """Row and column of each stored value."""
    stored = matrix.tocoo()
    return pl.DataFrame({row: stored.row.astype(np.int64), column: stored.col.astype(np.int64)})


def _finding(
    measured: Measurements, sides: _Sides, rows: pl.DataFrame, several: int, release: str
) -> Finding:
    hierarchy, touched = measured.hierarchy, rows["instance"].n_unique()
    number = rows["note"][0]
    note, tellers = sides.notes[number], sorted(set(rows["told_by"]))
    return Finding(
        check=_NAME,
        severity="note" if note.wide else "warning",
        nodes=_nodes(note),
        statement="{instances} of {of} instances with at least two labels ({share}) "
        f"{{instances|has|have}} {hierarchy.describe(hierarchy.index(note.node))} beside a code "
        f"that its Excludes1 note rules out. The note (release {release}): “{note.text}”. Two "
        "unrelated conditions are allowed.",
        evidence=share_evidence(touched, several),
        curator="Keep the code that describes the condition, or confirm that the two conditions "
        "are unrelated (guideline I.A.12.a) and waive the pair.",
        data_user="Do not count the two codes as two conditions of one patient without a look at "
        "the record.",
        touched=touched,
        parts=_parts(hierarchy, rows),
        folded_into=()
        if number in tellers
        else tuple(finding_id(_NAME, *_nodes(sides.notes[teller])) for teller in tellers),
    )


def _nodes(note: Exclusion) -> tuple[str, ...]:
    return note.node, *note.excluded


def _parts(hierarchy: Hierarchy, rows: pl.DataFrame) -> tuple[Part, ...]:
    pairs = (
        rows.group_by("label", "other")
        .len()
        .sort("len", "label", "other", descending=[True, False, False])
    )
    return tuple(
        label_part(hierarchy, (label, other), n)
        for label, other, n in pairs.head(TOP_PARTS).iter_rows()
    )


def cases(measured: Measurements, finding: Finding) -> IntArray:
    """The instances that carry the note's node and a node that it excludes."""
    noted, *excluded = finding.nodes
    met = [carrying_both(measured, noted, node) for node in excluded]
    return np.unique(np.concatenate(met))


CHECK = Check(
    _NAME,
    "Do records carry two codes that an Excludes1 note keeps apart?",
    run,
    needs="instances",
    cases=cases,
    nodes="Code|Such as beside",
    evidence=Columns(OF_SOME),
    of_parts=PARTS,
)
