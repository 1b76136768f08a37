"""Instances of a dataset counted by their own rows, against plain Python."""

from __future__ import annotations

from audit.counting.dataset import LoadedRecords
from audit.counting.residual_nodes import Residual
from audit.data.placing import REASONS
from audit.engine.pairs.record_counts import Records
from fixtures.labelled import labelled
from fixtures.toy import toy


def counted(labels: dict[str, list[str | None]], residual: dict[int, int]) -> Records:
    words = {1: "other", 2: "unspecified"}
    nodes = {node: Residual(words[kind], "drawn") for node, kind in residual.items()}
    return LoadedRecords(labelled(toy(), labels), nodes)


def of(records: Records, kind: str) -> dict[int, int]:
    sums = records.of(kind)  # type: ignore[arg-type]
    return dict(zip(sums.keys.tolist(), sums.joint.tolist(), strict=True))


def test_labels_are_numbered_by_node_and_refused_ones_by_reason_behind_them() -> None:
    hierarchy = toy()
    records = counted({"a": ["dog", "dog", "elf", "orc"], "b": ["dog", None]}, {})
    behind = len(hierarchy)

    assert of(records, "label") == {
        hierarchy.index("dog"): 2,
        behind + REASONS.index("unknown_code"): 1,
        behind + REASONS.index("missing_code"): 1,
    }
