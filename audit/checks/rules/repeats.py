"""duplicate_label, duplicate_instance, copied_records: labels and records that are there twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.dag import BoolArray, IntArray, Sparse
from audit.base.declared import NONE, Columns, chance, count, exact
from audit.checks.check import TOP_PARTS
from audit.checks.rows import Row, Rows, check_of_rows
from audit.checks.shared.carriers import distinct, label_part
from audit.checks.shared.evidence import OF_SOME, PARTS
from audit.checks.shared.proposals import carried_as, proposals, together
from audit.engine.pairs.rows import row_numbers
from audit.engine.statistics.intervals import wilson, wilson_at_limit
from audit.measure.measure import Measurements
from audit.results.findings import share_evidence, times_limit
from audit.sharing.told import Rounding

LEAST_LABELS = 5
"""Least number of labels for two equal sets not to be a coincidence."""
LEAST_COPIES = 5
"""Least number of copies to be reported."""
LEAST_SHARE = 0.5
"""Share of copies, among them and the pairs that differ a little, above which they are reported."""


def _repeated_labels(measured: Measurements) -> Rows:
    """Report all repeated labels in one finding, with those repeated on the most instances.

    Instances that occur in two places with equal labels are left to ``duplicate_instance``.
    """
    return Rows(measured.labelled, "instances with labels", _of_repeated(measured))


def _of_repeated(measured: Measurements) -> Iterator[Row]:
    """One row; counts do not say which instances are in two places."""
    records, n_nodes = measured.counts.records, len(measured.hierarchy)
    if measured.instances is None:
        extra, by_node = records.total("repeated_rows"), records.at("repeated", n_nodes)
        touched = records.total("repeated_instances")
    else:
        repeated = _repeated(measured)
        by_node = np.bincount(repeated["node"].to_numpy(), minlength=n_nodes)
        extra = int(repeated["rows"].sum()) - len(repeated)
        touched = repeated["instance"].n_unique()
    if not touched:
        return
    nodes = np.flatnonzero(by_node)
    most = nodes[np.argsort(-by_node[nodes], kind="stable")][:TOP_PARTS]
    parts = tuple(
        label_part(measured.hierarchy, (node,), n)
        for node, n in zip(most.tolist(), by_node[most].tolist(), strict=True)
    )
    yield Row(
        nodes=parts[0].nodes,
        sentence="{instances} of {of} instances with labels ({share}) "
        "{instances|has|have} a label more than once, which counts once[: {extra} repeated "
        "rows of {labels} different labels][, {mostly}].",
        evidence={
            **share_evidence(touched, measured.labelled),
            "extra": extra,
            "labels": len(nodes),
        },
        curator="Say in the release notes whether a repeated label means that something was "
        "done twice, or that a row was entered twice.",
        data_user="Count a label once per instance, unless the release says what repeats mean.",
        parts=parts,
        key=("labels",),
        cases=lambda: distinct(_repeated(measured)),
        proposes=partial(_without_repeats, measured),
    )


def _repeated(measured: Measurements) -> pl.DataFrame:
    """``instance, node`` (indices) and ``rows`` of each label that an instance repeats."""
    elsewhere, n_nodes = pl.Series(met_twice(measured).astype(np.uint32)), len(measured.hierarchy)
    assertions = measured.loaded.dataset.assertions.filter(
        ~pl.col("instance").is_in(elsewhere.implode())
    )
    pair = pl.col("instance").cast(pl.UInt64) * n_nodes + pl.col("node")
    pairs = assertions.select(pair.sort()).to_series()  # grouping takes four times the memory
    again = pairs.filter(pairs == pairs.shift()).rle().struct
    ends = {"instance": pl.col("value") // n_nodes, "node": pl.col("value") % n_nodes}
    return again.unnest().select(pl.col("len").add(1).alias("rows"), **ends).cast(pl.UInt32)


def _without_repeats(measured: Measurements) -> pl.DataFrame:
    """All but one of equal labels are taken out, once somebody says that they mean nothing."""
    repeated = _repeated(measured).sort("node").partition_by("node", maintain_order=True)
    found = [
        carried_as(measured, one["instance"].to_numpy(), [int(one["node"][0])]) for one in repeated
    ]
    said = "the record has it more than once; it counts once, unless repeats have a meaning"
    return together(proposals(one, "remove", "review", said, keep=1) for one in found)


def _entered_twice(measured: Measurements) -> Rows:
    """Report ids that occur twice with equal labels, and equal long label sets within a group.

    Equal sets of different groups are not a finding: two patients may have the same conditions.
    """
    return Rows(measured.labelled, "instances with labels", _of_twice(measured))


def _of_twice(measured: Measurements) -> Iterator[Row]:
    twice, equal = met_twice(measured), _equal_sets(measured)
    if len(twice):
        yield Row(
            severity="warning",
            sentence="{instances} of {of} instances with labels ({share}) {instances|is|are} in "
            "two places (records or splits) with equal labels; {instances|it|each} counts once.",
            evidence=share_evidence(len(twice), measured.labelled),
            curator="Keep one record of each id; where the places are splits, choose one split.",
            data_user="Remove repeated ids before counting or training.",
            key=("places",),
            cases=lambda: twice,
        )
    if len(equal):
        yield Row(
            severity="warning",
            sentence="{instances} of {of} instances with labels ({share}) {instances|has|have} the "
            f"labels ({LEAST_LABELS} or more) of another instance of {{instances|its|their}} "
            "group, in {groups} of {of_groups} groups[; without the repeats {distinct} would be "
            "left].",
            evidence={
                **share_evidence(len(equal), measured.labelled),
                "groups": equal["group"].n_unique(),
                "of_groups": int(measured.ledger.groups or 0),
                "distinct": len(equal.unique(["group", "set"])),
            },
            curator="Compare these records: a stay may have been entered twice, or labels copied "
            "from the stay before.",
            data_user="Keep the instances of a group in one split, and weight groups, not "
            "instances.",
            key=("group",),
            cases=lambda: distinct(equal),
        )


def met_twice(measured: Measurements) -> IntArray:
    """Instances that occur in two places with equal labels, at least one label kept; ascending."""
    dataset = measured.loaded.dataset
    places = dataset.places.filter(pl.col("labels").list.len() > 0)
    equal = places.group_by("instance", "labels").len().filter(pl.col("len") > 1)
    met = equal["instance"].unique().to_numpy().astype(np.int64)
    return np.intersect1d(met, dataset.assertions["instance"].to_numpy())


def _equal_sets(measured: Measurements) -> pl.DataFrame:
    """``instance, group, set``: instances with equal sets of labels as another of their group."""
    direct, groups = measured.loaded.dataset.direct, measured.loaded.dataset.instances["group"]
    long = np.flatnonzero(
        (np.diff(direct.indptr) >= LEAST_LABELS) & groups.is_not_null().to_numpy()
    )
    key, _ = _keys(direct)
    frame = pl.DataFrame({"instance": long, "group": groups.gather(long), "set": key[long]})
    return frame.filter(pl.len().over("group", "set") > 1)


def _keys(direct: Sparse) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """A number of each record's set of labels, and of each label: the first is the sum of these."""
    number = np.random.default_rng(0).integers(1 << 64, size=direct.shape[1], dtype=np.uint64)
    key = np.zeros(direct.shape[0], np.uint64)
    np.add.at(key, row_numbers(direct), number[direct.indices])
    return key, number


@dataclass(frozen=True, eq=False)
class Copies:
    """How many records repeat each other exactly, and how many nearly.

    Args:
        equal: Whether a record of another group has the same labels, shape (n_records,).
        copied: Whether more others have them than differ from them by one label, same shape.
        copies: Records beyond the first of such sets, less those of sets that are near.
        near: Pairs of sets that are near each other, each on one record and near no other.
    """

    equal: BoolArray
    copied: BoolArray
    copies: int
    near: int

    def stand(self, rounding: Rounding) -> bool:
        """Whether there are many copies, and more than nearly equal records let expect."""
        copies, near = rounding.bins(NONE).at_limit(rounding.count(self.copies) or 0, self.near)
        low, _ = wilson_at_limit(copies, copies + near, rounding.width, LEAST_SHARE)
        return bool(copies >= LEAST_COPIES and low > LEAST_SHARE)


def copies_of(direct: Sparse, group: IntArray) -> Copies:
    """Copies among records of different groups; a group has each set of labels once.

    Two sets are near if one is the other less a label, or both become equal by taking a label from
    each. Sets are compared by the sum of random numbers of their labels, so that time grows with
    the number of labels.

    Args:
        direct: Labels of each record, shape (n_records, n_nodes), one stored value a label.
        group: Group of each record, shape (n_records,).
    """
    key, number = _keys(direct)
    sets, first, place = np.unique(key, return_index=True, return_inverse=True)
    once = np.unique(np.stack([place, group]), axis=1)[0]
    records, length = np.bincount(once), np.diff(direct.indptr)[first]

    of_set = np.repeat(np.arange(len(sets)), length)
    less_one = sets[of_set] - number[direct[first].indices]
    whole, part = length >= LEAST_LABELS - 1, length[of_set] >= LEAST_LABELS
    member = np.concatenate([np.flatnonzero(whole), of_set[part]])
    shared = np.unique(np.concatenate([sets[whole], less_one[part]]), return_inverse=True)[1]
    sizes, weights = np.bincount(shared), np.bincount(shared, weights=records[member])
    near = np.bincount(member, sizes[shared] - 1, len(sets)).astype(np.int64)
    near_records = np.bincount(member, weights[shared] - records[member], len(sets))

    long = length >= LEAST_LABELS
    copies = np.where(long, np.maximum(records - 1 - near_records, 0), 0).astype(np.int64)
    alone = (records == 1) & (near == 1)
    pairs = (sizes == 2) & (np.bincount(shared, weights=alone[member]) == 2)
    equal = long & (records > 1)
    return Copies(equal[place], copies[place] > 0, int(copies.sum()), int(pairs.sum()))


def _copied(measured: Measurements) -> Rows:
    """Report that records repeat the labels of others, where near misses are rarer than repeats.

    What makes records alike by nature, such as usual sets of labels or short records, makes nearly
    equal sets first.
    """
    direct, groups = measured.loaded.dataset.direct, measured.loaded.group_of
    long = int((np.diff(direct.indptr) >= LEAST_LABELS).sum())
    found = copies_of(direct, np.arange(direct.shape[0]) if groups is None else groups)
    return Rows(
        long,
        f"instances with {LEAST_LABELS} or more different labels",
        [_of_copies(measured, found, long)] if found.stand(measured.rounding) else [],
    )


def _of_copies(measured: Measurements, found: Copies, long: int) -> Row:
    every = found.copies + found.near
    low = wilson(found.copies, every)[0]
    whose = "" if measured.loaded.group_of is None else " of another group"
    return Row(
        sentence=f"{{instances}} of {{of}} instances with {LEAST_LABELS} or more different labels "
        f"({{share}}) {{instances|has|have}} exactly the labels of others{whose}, as copies and "
        "templates do. Records alike by nature would more often differ by one label[: {near} pairs "
        "{near|does|do}, where {copies} {copies|repeats|repeat} another exactly].",
        evidence={
            **share_evidence(int(found.copied.sum()), long),
            "equal": int(found.equal.sum()),
            "copies": found.copies,
            "near": found.near,
            "copied_share": found.copies / every,
            "low_share": low,
            "family": 1,
        },
        curator="Find out whether records were copied to other ids on the way, or filled from a "
        "template; remove copies, and say in the release notes what a template ticks.",
        data_user="Keep equal records in one split, and count them once.",
        beyond=times_limit(low, LEAST_SHARE),
        key=("sets",),
        asks=True,
        cases=lambda: np.flatnonzero(found.copied),
    )


DUPLICATE_LABEL = check_of_rows(
    "duplicate_label",
    "Does an instance carry the same label more than once?",
    _repeated_labels,
    evidence=Columns(OF_SOME, count("extra labels", of=NONE)),
    of_parts=PARTS,
    proposes=True,
)
DUPLICATE_INSTANCE = check_of_rows(
    "duplicate_instance",
    "Is any record in the data twice?",
    _entered_twice,
    needs="instances",
    evidence=Columns(
        OF_SOME,
        count("groups", of="groups", under="instances"),
        exact("of_groups", of="groups", reason="all groups audited"),
        count("distinct", under="instances"),
    ),
)
COPIED_RECORDS = check_of_rows(
    "copied_records",
    "Are records copies of each other under different ids?",
    _copied,
    needs="instances",
    evidence=Columns(
        OF_SOME,
        count("equal copies"),
        count("near", of=NONE),
        chance("copied_share low_share family"),
    ),
)
