"""Instances of a dataset counted by their own rows, against plain Python."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from audit.counting.dataset import LoadedRecords
from audit.counting.residual_nodes import Residual
from audit.data.mapping import REASONS
from audit.engine.pairs.record_counts import Records
from audit.hierarchies.hierarchy import Hierarchy
from fixtures.labelled import labelled
from fixtures.toy import toy

LABELS = ["dog", "cow", "pet", "animal", "elf", "orc", None]
KINDS = st.dictionaries(st.sampled_from(range(8)), st.sampled_from([1, 2]))


def counted(labels: dict[str, list[str | None]], residual: dict[int, int]) -> Records:
    words = {1: "other", 2: "unspecified"}
    nodes = {node: Residual(words[kind], "drawn") for node, kind in residual.items()}
    return LoadedRecords(labelled(toy(), labels), nodes)


def plain(counts: Counter[int]) -> dict[int, int]:
    return {key: n for key, n in counts.items() if n}


def of(records: Records, kind: str) -> dict[int, int]:
    sums = records.of(kind)  # type: ignore[arg-type]
    return dict(zip(sums.keys.tolist(), sums.joint.tolist(), strict=True))


def reason_of(label: str | None) -> int:
    return REASONS.index("missing_code" if label is None else "unknown_code")


@given(st.dictionaries(st.sampled_from("abcdef"), st.lists(st.sampled_from(LABELS))), KINDS)
def test_each_kind_equals_plain_python(
    labels: dict[str, list[str | None]], residual: dict[int, int]
) -> None:
    hierarchy = toy()
    known = {
        i: [hierarchy.index(label) for label in own if label and label in hierarchy]
        for i, own in labels.items()
    }
    refused = {
        i: {reason_of(label) for label in own if not (label and label in hierarchy)}
        for i, own in labels.items()
        if not known[i]
    }
    rows = {i: Counter(own) for i, own in known.items()}
    records = counted(labels, residual)

    assert of(records, "length") == plain(Counter(len(own) for own in rows.values()))
    assert of(records, "rows") == plain(Counter(len(own) for own in known.values() if own))
    assert of(records, "repeated") == plain(
        Counter(node for own in rows.values() for node, n in own.items() if n > 1)
    )
    assert records.total("repeated_rows") == sum(
        n - 1 for own in rows.values() for n in own.values()
    )
    assert of(records, "refused") == plain(Counter(r for own in refused.values() for r in own))
    assert records.total("all_refused") == sum(bool(own) for own in refused.values())
    specific = {
        i: own - {above for node in own for above in hierarchy.ancestors(node)}
        for i, own in ((i, {hierarchy.nodes[n] for n in own}) for i, own in known.items())
    }
    assert of(records, "alone") == plain(
        Counter(hierarchy.index(*own) for own in specific.values() if len(own) == 1)
    )
    assert of(records, "size") == plain(
        Counter(len(own) for own in specific.values() if len(own) > 1)
    )
    assert records.total("labelled") == sum(len(own) for own in specific.values() if len(own) > 1)
    assert records.total("below") == sum(
        len({above for node in own for above in above_of(hierarchy, node)})
        for own in known.values()
    )


def above_of(hierarchy: Hierarchy, node: int) -> set[str]:
    return set(hierarchy.ancestors(hierarchy.nodes[node]))


def test_labels_are_numbered_by_node_and_refused_ones_by_reason_behind_them() -> None:
    hierarchy = toy()
    records = counted({"a": ["dog", "dog", "elf", "orc"], "b": ["dog", None]}, {})
    behind = len(hierarchy)

    assert of(records, "label") == {
        hierarchy.index("dog"): 2,
        behind + REASONS.index("unknown_code"): 1,
        behind + REASONS.index("missing_code"): 1,
    }


def test_only_residual_labels_count_by_kind() -> None:
    hierarchy = toy()
    dog, cow, mammal = (hierarchy.index(node) for node in ("dog", "cow", "mammal"))
    records = counted({"a": ["dog"], "b": ["cow"], "c": ["dog", "cow"]}, {dog: 1, cow: 2})
    by_kind = records.at("only_residual", 3 * len(hierarchy)).reshape(3, -1)

    assert records.at("below", len(hierarchy))[mammal] == 3
    assert by_kind[:, mammal].tolist() == [3, 1, 1]


def test_without_rows_there_is_nothing_but_instances() -> None:
    records = counted({"a": [], "b": []}, {})

    assert of(records, "length") == {0: 2}
    assert {kind: records.total(kind) for kind, _ in records if kind != "length"} == dict.fromkeys(
        (kind for kind, _ in records if kind != "length"), 0
    )
