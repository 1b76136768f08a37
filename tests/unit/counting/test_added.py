"""Counts added to earlier ones are the counts of both together; what cannot be added is refused."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from audit.base.errors import InputError
from audit.counting.counts import PairCount
from audit.counting.file import count_pairs
from audit.counting.kept import read_counts, write_counts
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.icd.icd9 import ICD9Coding
from audit.policy.policy import Policy
from fixtures import brute_force as plain
from fixtures.brute_force_counts import Rows, Spelled, record_counts
from fixtures.coded import icd9cm
from fixtures.examples import examples
from fixtures.labelled import tree
from fixtures.named_counts import (
    LABEL,
    confusion_of_count,
    pairs_of_count,
    records_of_count,
    supports_of_count,
    write_rows,
)
from fixtures.toy import toy

TOY = ("animal", "bird", "cow", "dog", "mammal", "pet", "tool")
REFUSED = ("axolotl", "elf", "unicorn", None)
RESIDUAL = Policy(residual_nodes=("cow", "tool"))
LISTED = ("428.0", "401.9", "250.00", "V30.00", "nonsense", "999.999")
UNLISTED = ("038.97", "428.97", "E812.97", "038.96", "428.95", "250.97")
"""Codes that the little tree lacks: each makes a node of its own."""
EARLIER = ("645.00", "718.60", "V23.6", "645.01", "36.01", "81.09")
"""The same of the whole classification: codes that only earlier editions had."""

toy_rows = st.lists(st.lists(st.sampled_from([*TOY, *REFUSED]), max_size=6), min_size=1, max_size=8)


def count(
    rows: Rows,
    hierarchy: Hierarchy,
    before: PairCount | None = None,
    policy: Policy | None = None,
    checkpoint: Path | None = None,
) -> PairCount:
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(rows, Path(folder) / "rows.parquet", listed=True)
        return count_pairs(
            path,
            hierarchy,
            label=LABEL,
            policy=policy,
            added_to=before,
            checkpoint=checkpoint,
            resume=True,
        )


def kept(found: PairCount, hierarchy: Hierarchy, folder: Path) -> PairCount:
    """As a run keeps it."""
    write_counts(found, folder)
    return read_counts(folder, hierarchy)


def named(prefix: str, rows: Sequence[Sequence[str | None]]) -> dict[str, Sequence[str | None]]:
    return {f"{prefix}{number:02}": own for number, own in enumerate(rows)}


def assert_counts_both(found: PairCount, rows: Rows, whole: PairCount) -> None:
    """As of a count of all rows, and margins as in plain Python."""
    assert found.hierarchy.sha256 == whole.hierarchy.sha256
    assert_frame_equal(found.labels.written, whole.labels.written)
    assert found.ledger == whole.ledger
    assert_frame_equal(found.refusals, whole.refusals)
    assert_frame_equal(found.mappings, whole.mappings)
    assert found.residual.tolist() == whole.residual.tolist()
    assert found.tally.lengths.tolist() == whole.tally.lengths.tolist()
    assert records_of_count(found) == records_of_count(whole)
    assert pairs_of_count(found) == pairs_of_count(whole)
    assert confusion_of_count(found) == pytest.approx(confusion_of_count(whole), rel=1e-12)
    assert supports_of_count(found) == supports_of_count(whole)
    entailed, wanted = found.tally.entailed, whole.tally.entailed
    assert entailed.keys.tolist() == wanted.keys.tolist()
    assert entailed.joint.tolist() == wanted.joint.tolist()
    for name in ("cuts", "size", "carried", "labelled"):
        one, other = getattr(found.strata, name), getattr(whole.strata, name)
        assert one.tolist() == other.tolist()
    assert_margins_as_in_plain_python(found, rows)


def assert_margins_as_in_plain_python(found: PairCount, rows: Rows) -> None:
    node_of = dict(found.mappings.select("label", "node").iter_rows())
    parents = plain.parents_of(found.hierarchy.nodes, found.hierarchy.edge_frame().iter_rows())
    wanted = record_counts(parents, rows, Spelled(node_of, {}, {}))
    named = records_of_count(found)
    for kind in ("alone", "size", "carried", "labelled", "between"):
        assert named[kind] == wanted.get(kind, {})


@pytest.mark.slow
@given(toy_rows, toy_rows, st.booleans())
@examples(15)
def test_both_together(
    earlier: list[list[str | None]], later: list[list[str | None]], keep: bool
) -> None:
    hierarchy, one, other = toy(), named("b", earlier), named("a", later)
    before = count(one, hierarchy, policy=RESIDUAL)
    with tempfile.TemporaryDirectory() as folder:
        if keep:
            before = kept(before, hierarchy, Path(folder))
        found = count(other, hierarchy, before, RESIDUAL)

        assert_counts_both(found, one | other, count(one | other, hierarchy, policy=RESIDUAL))
        assert_as_in_plain_python(found, one | other)


def assert_as_in_plain_python(found: PairCount, rows: Rows) -> None:
    nodes = found.hierarchy.nodes
    parents = plain.parents_of(nodes, found.hierarchy.edge_frame().iter_rows())
    spelled = Spelled(
        node_of={node: node for node in TOY},
        reason_of={label: "unknown_code" if label else "missing_code" for label in REFUSED},
        residual=dict.fromkeys(RESIDUAL.residual_nodes, "other"),
    )
    wanted = record_counts(parents, rows, spelled)
    assert {kind: counts for kind, counts in records_of_count(found).items() if counts} == {
        kind: counts for kind, counts in wanted.items() if counts
    }


@pytest.fixture(scope="module")
def icd9() -> Hierarchy:
    """A little of ICD-9-CM."""
    return tree(
        "038.9 < 038",
        "250.00 < 250.0",
        "250.0 < 250",
        "401.9 < 401",
        "428.0 428.9 < 428",
        "E812.0 < E812",
        "V30.00 < V30.0",
        "V30.0 < V30",
        "038 250 401 428 E812 V30 < top",
        coding=ICD9Coding(),
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("keep", [False, True])
def test_labels_that_bring_new_nodes(
    tmp_path: Path, icd9: Hierarchy, seed: int, keep: bool
) -> None:
    assert_new_nodes_are_added(icd9, UNLISTED, tmp_path if keep else None, seed)


@pytest.mark.slow
def test_so_do_those_of_the_whole_classification(tmp_path: Path) -> None:
    assert_new_nodes_are_added(icd9cm(), EARLIER, tmp_path, 0)


def assert_new_nodes_are_added(
    icd9: Hierarchy, unlisted: Sequence[str], folder: Path | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    labels = [*LISTED, *unlisted]
    one, other = (
        named(name, [rng.choice(some, size=rng.integers(0, 7)).tolist() for _ in range(20)])
        for name, some in (("b", labels[: 6 + 3]), ("a", labels[3:]))
    )
    before = count(one, icd9)
    if folder:
        before = kept(before, icd9, folder)
    found, whole = count(other, icd9, before), count(one | other, icd9)

    assert len(icd9) < len(before.hierarchy) < len(found.hierarchy)
    assert_counts_both(found, one | other, whole)


def test_counts_are_added_again_and_again(tmp_path: Path) -> None:
    thirds = [
        named(name, [[*own, own[0]] for own in lists])
        for name, lists in {
            "a": [["dog", "cow"], ["unicorn"], ["tool", "pet", "bird"]],
            "b": [["axolotl", "bird"], ["cow", "mammal", "dog", "tool"]],
            "c": [["animal", "dog"], ["elf", "tool", "bird"], ["pet"]],
        }.items()
    ]
    found = count(thirds[0], toy(), policy=RESIDUAL)
    for number, more in enumerate(thirds[1:]):
        found = kept(count(more, toy(), found, RESIDUAL), toy(), tmp_path / str(number))
    every = thirds[0] | thirds[1] | thirds[2]

    assert_counts_both(found, every, count(every, toy(), policy=RESIDUAL))


def test_a_count_of_instances_without_labels_adds_them(tmp_path: Path) -> None:
    one, other = named("b", [["dog", "cow"], ["elf"]]), named("a", [[], ["unicorn"], [None]])
    found = count(other, toy(), kept(count(one, toy()), toy(), tmp_path))

    assert_counts_both(found, one | other, count(one | other, toy()))
    assert (len(found), found.ledger.instances_without_labels) == (5, 4)


def test_an_added_count_that_ended_is_not_added_twice(tmp_path: Path) -> None:
    one, other = named("b", [["dog", "cow"], ["bird"]]), named("a", [["dog", "tool"], ["cow"]])
    before, whole = count(one, toy()), count(one | other, toy())

    for _ in range(2):
        found = count(other, toy(), before, checkpoint=tmp_path / "count")
        assert_counts_both(found, one | other, whole)


# --- what cannot be added ------------------------------------------------------------------


def test_a_leaf_that_becomes_an_inner_node_is_refused(icd9: Hierarchy) -> None:
    before = count(named("b", [["401.9", "428.0"]]), icd9)

    with pytest.raises(InputError, match=r"(?s)labels below '401\.9'.*audit all data together"):
        count(named("a", [["401.91"]]), icd9, before)


def test_a_leaf_that_was_none_before_is_no_fault(icd9: Hierarchy) -> None:
    one, other = named("b", [["401.9", "401.91"], ["401.91"]]), named("a", [["401.91", "428.0"]])
    found = count(other, icd9, count(one, icd9))

    assert_counts_both(found, one | other, count(one | other, icd9))


@pytest.mark.parametrize(
    "policy",
    [None, Policy(residual_nodes=("cow",)), Policy(residual_nodes=("cow", "tool", "bird"))],
)
def test_other_residual_nodes_are_refused(policy: Policy | None) -> None:
    before = count(named("b", [["dog", "cow"]]), toy(), policy=RESIDUAL)

    with pytest.raises(InputError, match=r"(?s)same residual nodes.*audit all data together"):
        count(named("a", [["dog"]]), toy(), before, policy)


def test_other_titles_are_no_fault_where_they_tell_the_same() -> None:
    edges = ("asthma flu < lung", "lung < body")
    plainly, titled = tree(*edges), tree(*edges, titles={"asthma": "Asthma"})
    before = count(named("b", [["asthma", "flu"]]), plainly)

    assert len(count(named("a", [["asthma"]]), titled, before)) == 2
