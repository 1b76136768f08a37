"""Every count of whole instances equals that of plain Python, in batches of any size and order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.engine.pairs.propagation import aggregate
from audit.engine.pairs.record_counts import (
    KINDS,
    InstanceCounts,
    Mapped,
    RecordCounts,
    RecordRows,
    Records,
)
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.brute_force import Parents, parents_of
from fixtures.brute_force_counts import (
    Counts,
    Rows,
    Spelled,
    first_branches,
    record_counts,
    uninformative,
)
from fixtures.labelled import tree
from fixtures.named_counts import named_records
from fixtures.strategies import hierarchies

REASONS = ("no such code", "no code at all", "another version")


@dataclass(frozen=True)
class Written:
    """A drawn release: what its labels mean, and the labels of each instance.

    None stands for a row without a label that counts: no drawn id can be mistaken for it.
    """

    hierarchy: Hierarchy
    spelled: Spelled
    rows: Rows

    @property
    def labels(self) -> list[str | None]:
        """Those that count, by number; refused ones between others."""
        return sorted([*self.spelled.node_of, *self.spelled.reason_of], key=str)

    @property
    def mapped(self) -> Mapped:
        node_of, reason_of, kind_of = (
            self.spelled.node_of,
            self.spelled.reason_of,
            self.spelled.residual,
        )
        kinds = (None, "other", "unspecified")
        nodes, branch = self.hierarchy.nodes, first_branches(self.parents)
        little = uninformative(self.parents)
        return Mapped(
            _whole(nodes.index(node_of[w]) if w in node_of else -1 for w in self.labels),
            _whole(REASONS.index(reason_of[w]) if w in reason_of else -1 for w in self.labels),
            _whole(kinds.index(kind_of.get(node)) for node in nodes),
            self.hierarchy.closure,
            _whole(-1 if branch[node] is None else nodes.index(branch[node]) for node in nodes),
            np.array([node in little for node in nodes]),
        )

    @property
    def parents(self) -> Parents:
        return parents_of(self.hierarchy.nodes, self.hierarchy.edge_frame().iter_rows())

    def counted(self, instances: Sequence[str]) -> InstanceCounts:
        """What is counted of some instances, those without rows behind the others."""
        labels, some = self.labels, sorted(instances, key=lambda i: not self.rows[i])
        number = [n for n, instance in enumerate(some) for _ in self.rows[instance]]
        label = [
            -1 if written is None else labels.index(written)
            for instance in some
            for written in self.rows[instance]
        ]
        return InstanceCounts(RecordRows(_whole(number), _whole(label), len(some)), self.mapped)

    def named(self, counts: Records) -> Counts:
        return named_records(counts, self.labels, self.hierarchy.nodes, REASONS)

    @property
    def expected(self) -> Counts:
        counting = {i: [w for w in own if w is not None] for i, own in self.rows.items()}
        return {kind: {} for kind in KINDS} | record_counts(self.parents, counting, self.spelled)


def _whole(numbers: object) -> np.ndarray:
    return np.array(list(numbers), np.int64)  # type: ignore[call-overload]


@st.composite
def drawn(draw: st.DrawFn) -> Written:
    """Nodes spelled in two ways, refused labels, rows without a label, instances without rows."""
    hierarchy = draw(hierarchies(max_nodes=7, titled=False))
    node_of: dict[str | None, str] = {
        f"{node}{mark}": node for node in hierarchy.nodes for mark in ("", " again")
    }
    reason_of: dict[str | None, str] = {f"refused {n}": REASONS[n % 3] for n in range(4)}
    residual = draw(
        st.dictionaries(st.sampled_from(hierarchy.nodes), st.sampled_from(["other", "unspecified"]))
    )
    written = st.one_of(st.sampled_from(list(node_of)), st.sampled_from([*reason_of, None]))
    rows = draw(st.lists(st.lists(written, max_size=6), max_size=7))
    return Written(
        hierarchy,
        Spelled(node_of, reason_of, residual),
        {f"i{n}": own for n, own in enumerate(rows)},
    )


@given(drawn())
def test_every_kind_equals_plain_python(release: Written) -> None:
    counts = release.counted(list(release.rows))
    direct, aggregated = counts.carried.direct, counts.carried.values

    assert release.named(counts) == release.expected
    assert direct.has_canonical_format
    assert aggregated.has_canonical_format
    assert (aggregated != aggregate(direct, release.hierarchy.closure)).nnz == 0
    node_of, some = release.spelled.node_of, sorted(release.rows, key=lambda i: not release.rows[i])
    assert [
        {release.hierarchy.nodes[place] for place in direct.indices[slice(*ends)]}
        for ends in zip(direct.indptr, direct.indptr[1:], strict=False)
    ] == [{node_of[w] for w in release.rows[i] if w in node_of} for i in some]
    assert set(direct.data.tolist()) <= {1}


@given(drawn(), st.randoms(use_true_random=False), st.integers(1, 4))
def test_batches_add_up_in_any_order(release: Written, random: object, size: int) -> None:
    instances = list(release.rows)
    random.shuffle(instances)  # type: ignore[attr-defined]
    together = RecordCounts()
    for start in range(0, len(instances), size):
        together.add(release.counted(instances[start : start + size]))

    assert release.named(together) == release.expected
    of_all = release.counted(list(release.rows))
    for kind in KINDS:
        assert together.of(kind).keys.tolist() == of_all.of(kind).keys.tolist()


def test_what_is_asked_for_by_key_is_as_long_as_asked() -> None:
    spelled = Spelled({"a": "a"}, {}, {})
    counts = Written(tree("a b < top"), spelled, {"i": ["a"]}).counted(["i"])

    assert counts.at("below", 3).tolist() == [0, 0, 1]
    assert counts.at("length", 0).tolist() == [0, 1]
    assert counts.at("nested", 2).tolist() == [0, 0]
    assert (counts.total("length"), counts.total("nested")) == (1, 0)
