"""duplicates: labels, records and persons that are there twice."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from audit.base.arrays import Growing, slices
from audit.base.dag import BoolArray, IntArray, Sparse
from audit.base.declared import NONE, Columns, chance, count
from audit.checks.rows import OF_GROUPS, OF_SOME, PARTS, Row, Rows, check_of_rows
from audit.checks.shared.carriers import distinct, most_frequent
from audit.checks.shared.proposals import carried_as, proposals
from audit.engine.pairs.pair_counts import support
from audit.engine.pairs.rows import GrowingRows, counts_at, row_numbers, row_slices
from audit.engine.statistics.intervals import wilson, wilson_at_limit
from audit.measure.measure import Measurements, once
from audit.results.findings import share_evidence, times_limit
from audit.sharing.told import Rounding

LEAST_LABELS = 5
"""Least number of labels for two equal sets not to be a coincidence."""
GROUPS_AT_ONCE = 512
"""Number of groups whose sets of labels one product compares with those of all others."""
LEAST_SHARED = 2
"""Least number of sets that two persons share for one to be a copy of the other."""
LEAST_COPIES = 5
"""Least number of copies to be reported."""
LEAST_SHARE = 0.5
"""Share of copies, among them and the pairs that differ a little, above which they are reported."""


def _duplicates(measured: Measurements) -> Rows:
    """Labels, records and persons that are there twice, in up to six findings.

    - *Labels*: instances with two or more rows for one node, however written. `extra` is rows of
      repeated labels less the different labels among them.
    - *Places*: an id is in two records, or in two splits, with equal labels as written.
    - *Records*: an id is in two records of one split with different labels as written, which count
      as one instance. Such instances, and those of places, are left out of the first.
    - *Group*: instances of one group have equal sets of at least 5 different labels. `distinct` is
      how many (group, set) are different.
    - *Persons*: two groups share two or more different sets of at least 5 labels.
    - *Sets*: records are copies of each other under different ids. Sets of five or more different
      labels are *near* if one is the other less one label, or they become equal by taking one label
      from each; a group counts each set once. D are the copies: over all sets on more than one
      record, the records beyond the first less those of its near sets. I are pairs of near sets,
      each on one record and near no other. Told where D is 5 or more and the lower end of Wilson's
      95 % interval of D / (D + I) is above one half: what is alike by nature is near too.
      `instances` share all labels with more others than differ by one, `equal` all with any.

    On counts alone repeated labels are the only finding. **Severity.** Places, records and group:
    warning; others: note, since a repeated label counts once, and templates look like copies.
    **Limits.** Procedures and treatments are often rightly repeated. Near misses grow with the
    square of the records, so that few copies among very many are not told.
    """
    return Rows(measured.labelled, "instances with labels", _rows(measured))


def _rows(measured: Measurements) -> Iterator[Row]:
    if measured.instances is None:
        records = measured.counts.records
        by_node = records.at("repeated", len(measured.hierarchy))
        extra, instances = records.total("repeated_rows"), records.total("repeated_instances")
        yield from _of_labels(measured, by_node, extra, instances)
        return
    again = _repeated(measured)
    extra = int(again.data.sum()) - again.nnz
    instances = int(np.count_nonzero(np.diff(again.indptr)))
    yield from _of_labels(measured, support(again), extra, instances)
    if len(twice := _met_twice(measured)):
        yield Row(
            severity="warning",
            sentence="{instances} of {of} instances with labels ({share}) {instances|is|are} in "
            "two places (records or splits) with equal labels; {instances|it|each} counts once.",
            evidence=share_evidence(len(twice), measured.labelled),
            curator="Keep one record of each id; where the places are splits, choose one split.",
            data_user="Remove repeated ids before counting or training.",
            key=("places",),
            cases=twice,
        )
    if len(joined := _joined(measured)):
        yield Row(
            severity="warning",
            sentence="{instances} of {of} instances with labels ({share}) {instances|has|have} "
            "several records with different labels, which are put together: an id counts once.",
            evidence=share_evidence(len(joined), measured.labelled),
            curator="Give each record an id of its own; a column of persons is a group.",
            data_user="Do not read these as single records: their labels were put together.",
            key=("records",),
            cases=joined,
        )
    direct, groups = measured.loaded.dataset.direct, measured.loaded.dataset.instances["group"]
    long = np.flatnonzero(np.diff(direct.indptr) >= LEAST_LABELS)
    key, _ = _keys(direct)
    sets = pl.DataFrame({"instance": long, "set": key[long], "group": groups.gather(long)})
    if measured.loaded.group_of is not None:
        yield from _of_groups(measured, sets.drop_nulls("group"))
    yield from _across(measured, len(long))


def _of_labels(
    measured: Measurements, by_node: IntArray, extra: int, instances: int
) -> Iterator[Row]:
    """The row on labels that instances have more than once; none without such."""
    nodes = np.flatnonzero(by_node)
    if not len(nodes):
        return
    parts = most_frequent(measured.hierarchy, by_node[nodes], nodes)
    counts = {"extra": extra, "labels": len(nodes)}
    yield Row(
        nodes=parts[0].nodes,
        sentence="{instances} of {of} instances with labels ({share}) "
        "{instances|has|have} a label more than once, which counts once[: {extra} repeated "
        "rows of {labels} different labels][, {mostly}].",
        evidence=share_evidence(instances, measured.labelled) | counts,
        curator="Keep one row of each label, unless a repeated one means that something was done "
        "twice, as procedures are: then say so in the release notes.",
        data_user="Count a label once per instance, unless the release says what repeats mean.",
        parts=parts,
        key=("labels",),
        cases=lambda: np.flatnonzero(np.diff(_repeated(measured).indptr)),
        proposes=partial(_without_repeats, measured),
    )


@once
def _repeated(measured: Measurements) -> Sparse:
    """Rows of labels on two rows or more, of instances in one place; (n_instances, n_nodes)."""
    dataset, width = measured.loaded.dataset, len(measured.hierarchy)
    twice = np.zeros(len(dataset), np.bool_)
    twice[np.union1d(_met_twice(measured), _joined(measured))] = True
    found = GrowingRows(width, np.int32)
    for first, last, some in dataset.stretches():
        rows = dataset.assertions[some]
        at = rows["instance"].to_numpy(), rows["node"].to_numpy()
        once = ~twice[at[0]]
        places = at[0][once].astype(np.int64) - first, at[1][once]
        ones = np.ones(len(places[0]), np.int32)
        times = csr_array((ones, places), shape=(last - first, width))
        times.data[times.data == 1] = 0
        times.eliminate_zeros()
        found.add(times)
    return found.whole()


def _without_repeats(measured: Measurements) -> pl.DataFrame:
    """Proposals to take out all but one of equal labels of a record: a label counts once."""
    again = _repeated(measured)
    ids = pl.Series(measured.hierarchy.nodes)
    pairs = pl.DataFrame({"instance": row_numbers(again), "node": ids.gather(again.indices)})
    used = np.unique(again.indices).tolist()
    found = carried_as(measured, pairs["instance"].unique().to_numpy(), used)
    own = found.join(pairs.cast({"instance": pl.UInt32}), on=["instance", "node"], how="semi")
    said = "the record has it more than once, and it counts once"
    return proposals(own, "remove", "certain", said, keep=1)


@once
def _met_twice(measured: Measurements) -> IntArray:
    """Instances that occur in two places with equal labels, at least one label kept; ascending."""
    places = _places(measured)
    return distinct(places.filter(places.select("instance", "labels").is_duplicated()))


@once
def _joined(measured: Measurements) -> IntArray:
    """Instances with several records of different labels, in one split if in any; ascending."""
    records = _places(measured).unique(["instance", "split", "labels"])
    return distinct(records.filter(records.select("instance", "split").is_duplicated()))


def _places(measured: Measurements) -> pl.DataFrame:
    """The places with labels of instances that keep some."""
    dataset = measured.loaded.dataset
    places = dataset.places.filter(pl.col("labels").list.len() > 0)
    return places.join(dataset.assertions, on="instance", how="semi")


def _keys(direct: Sparse) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """A number of each record's set of labels, and of each label: the first is the sum of these."""
    number = np.random.default_rng(0).integers(1 << 64, size=direct.shape[1], dtype=np.uint64)
    key = np.zeros(direct.shape[0], np.uint64)
    for some in row_slices(direct.indptr):
        rows = direct[some]
        np.add.at(key[some], row_numbers(rows), number[rows.indices])
    return key, number


def _of_groups(measured: Measurements, sets: pl.DataFrame) -> Iterator[Row]:
    """Equal sets of one group, and groups that share two or more different sets."""

    def counts(equal: pl.DataFrame) -> dict[str, float]:
        groups = {"groups": equal["group"].n_unique(), "of_groups": measured.ledger.groups or 0}
        return share_evidence(len(equal), measured.labelled) | groups

    within = sets.filter(pl.len().over("group", "set") > 1)
    if len(within):
        yield Row(
            severity="warning",
            sentence="{instances} of {of} instances with labels ({share}) {instances|has|have} the "
            f"labels ({LEAST_LABELS} or more) of another instance of {{instances|its|their}} "
            "group, in {groups} of {of_groups} groups[; without the repeats {distinct} would be "
            "left].",
            evidence=counts(within) | {"distinct": len(within.unique(["group", "set"]))},
            curator="Compare these records: a stay may have been entered twice, or labels copied "
            "from the stay before.",
            data_user="Keep the instances of a group in one split, and weight groups, not "
            "instances.",
            key=("group",),
            cases=distinct(within),
        )
    own, group = (sets[name].rank("dense").to_numpy() - 1 for name in ("set", "group"))
    shared, pairs = shared_by_two(own, group)
    between = sets.filter(pl.Series(shared, dtype=pl.Boolean))
    if pairs:
        yield Row(
            sentence="{groups} of {of_groups} groups, with {instances} of {of} instances with "
            f"labels ({{share}}), {{groups|shares|share}} {LEAST_SHARED} or more different records "
            f"of {LEAST_LABELS} or more labels with another group[, in {{pairs}} pairs]: one may "
            "be the other under a second id.",
            evidence=counts(between) | {"pairs": pairs},
            curator="Compare these groups: give one person one id, and say in the release notes "
            "what a template ticks.",
            data_user="Keep such groups in one split, and count one of two.",
            key=("persons",),
            cases=distinct(between),
        )


def shared_by_two(sets: IntArray, group: IntArray) -> tuple[BoolArray, int]:
    """Records with a set of labels in common with a group that has two or more of their group's.

    Args:
        sets: Number of the set of labels of each record, shape (n_records,).
        group: Number of its group, same shape.

    Returns:
        Whether each record is one, shape (n_records,), and the number of such pairs.

    Time grows with the pairs of groups that have a set, summed over sets; memory with the groups.
    """
    shape = (int(group.max(initial=0)) + 1, int(sets.max(initial=0)) + 1)
    holds = csr_array((np.ones(len(sets), np.int32), (group, sets)), shape=shape)
    holds.data[:] = 1
    pairs, found = 0, list[Sparse]()
    for start in range(0, shape[0], GROUPS_AT_ONCE):
        own = holds[start : start + GROUPS_AT_ONCE]
        joint = (own @ holds.T).tocoo()
        copied = (joint.data >= LEAST_SHARED) & (joint.row + start != joint.col)
        ends = joint.row[copied], joint.col[copied]
        beside = csr_array((np.ones(len(ends[0]), np.int32), ends), shape=joint.shape)
        found.append(csr_array(own.multiply(beside @ holds)))
        pairs += len(ends[0])
    shared = csr_array(vstack(found, "csr"))
    return counts_at(shared, group, sets) > 0, pairs // 2


class Copies(NamedTuple):
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
    member, shared = _sharing(direct, first, sets, number)
    sizes, weights = np.bincount(shared), np.bincount(shared, weights=records[member])
    near = np.bincount(member, sizes[shared] - 1, len(sets)).astype(np.int64)
    near_records = np.bincount(member, weights[shared] - records[member], len(sets))

    long = length >= LEAST_LABELS
    copies = np.where(long, np.maximum(records - 1 - near_records, 0), 0).astype(np.int64)
    alone = (records == 1) & (near == 1)
    pairs = (sizes == 2) & (np.bincount(shared, weights=alone[member]) == 2)
    equal = long & (records > 1)
    return Copies(equal[place], copies[place] > 0, int(copies.sum()), int(pairs.sum()))


def _sharing(
    direct: Sparse, first: IntArray, sets: NDArray[np.uint64], number: NDArray[np.uint64]
) -> tuple[IntArray, IntArray]:
    """The sets that are equal as they are or less one label: a set and the number of what it is
    equal as, a row for each way.

    Args:
        first: A record of each set.
        sets: The sum of the numbers of its labels.
        number: The number of each label.
    """

    def ways() -> Iterator[tuple[IntArray, NDArray[np.uint64]]]:
        for some in slices(len(first)):
            rows = direct[first[some]]
            length, of_set = np.diff(rows.indptr), row_numbers(rows)
            part = length[of_set] >= LEAST_LABELS
            whole = np.flatnonzero(length >= LEAST_LABELS - 1)
            less_one = sets[some][of_set[part]] - number[rows.indices[part]]
            member = np.concatenate([whole, of_set[part]]) + some.start
            yield member, np.concatenate([sets[some][whole], less_one])

    every = Growing(np.uint64)
    for _, keys in ways():
        every.add(keys)
    ordered = every.whole()
    ordered.sort()
    several = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    members, shared = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for member, keys in ways():
        place = np.searchsorted(several, keys)
        met = np.append(several, 0)[place] == keys
        met &= place < len(several)
        members.append(member[met])
        shared.append(place[met])
    return np.concatenate(members), np.concatenate(shared)


def _across(measured: Measurements, n_long: int) -> Iterator[Row]:
    """A row on those of ``n_long`` long records that equal more others than differ by a label."""
    direct, groups = measured.loaded.dataset.direct, measured.loaded.group_of
    found = copies_of(direct, np.arange(direct.shape[0]) if groups is None else groups)
    if not found.stand(measured.rounding):
        return
    every = found.copies + found.near
    low = wilson(found.copies, every)[0]
    whose = "" if groups is None else " of another group"
    yield Row(
        sentence=f"{{instances}} of {{of}} instances with {LEAST_LABELS} or more different labels "
        f"({{share}}) {{instances|has|have}} exactly the labels of more others{whose} than differ "
        "by one label, as copies and templates do[; {equal} {equal|has|have} those of another at "
        "all]. Records alike by nature would more often differ by one label[: {near} pairs "
        "{near|does|do}, where {copies} {copies|repeats|repeat} another exactly].",
        evidence={
            **share_evidence(int(found.copied.sum()), n_long),
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
        cases=np.flatnonzero(found.copied),
    )


CHECK = check_of_rows(
    "duplicates",
    "Are labels, records or persons in the data twice?",
    _duplicates,
    evidence=Columns(
        OF_SOME,
        count("extra labels pairs near", of=NONE),
        OF_GROUPS,
        count("distinct", under="instances"),
        count("equal copies"),
        chance("copied_share low_share family"),
    ),
    of_parts=PARTS,
)
