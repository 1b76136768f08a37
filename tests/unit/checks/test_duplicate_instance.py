"""duplicate_instance: ids met twice, and equal long sets of labels within a group."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from audit.checks.rules.repeats import met_twice
from audit.data.dataset import load_labels
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled, tree

CHECK = CHECK_OF["duplicate_instance"]

FLAT = tree("a b c d e f < top")
FIVE = list("abcde")


def checked(labels: dict[str, list[str]], groups: dict[str, str]) -> CheckResult:
    return CHECK.run(measure(labelled(FLAT, labels, groups=groups), Policy()))


def test_equal_sets_count_within_a_group_alone() -> None:
    labels = {"1": FIVE, "2": FIVE[::-1], "3": FIVE, "4": FIVE[:4], "5": FIVE[:4], "6": FIVE}
    groups = {"1": "p", "2": "p", "3": "q", "4": "p", "5": "p"}
    (finding,) = checked(labels, groups).findings

    assert (finding.severity, finding.id) == ("warning", "duplicate_instance:group")
    assert finding.evidence["instances"] == 2
    assert finding.evidence["of"] == 6
    assert (finding.evidence["groups"], finding.evidence["of_groups"]) == (1, 2)
    assert finding.evidence["distinct"] == 1


def test_a_repeated_label_makes_no_set_longer() -> None:
    four = ["a", "b", "c", "d", "d"]

    assert checked({"1": four, "2": four}, {"1": "p", "2": "p"}).status == "pass"


def test_instances_without_a_group_are_not_compared() -> None:
    assert checked({"1": FIVE, "2": FIVE}, {"1": "p"}).status == "pass"


@given(
    st.lists(
        st.tuples(st.sampled_from("pq"), st.sets(st.sampled_from("abcdef"), min_size=4)),
        min_size=1,
        max_size=8,
    )
)
def test_it_equals_counting_sets(drawn: list[tuple[str, set[str]]]) -> None:
    counts = Counter((group, frozenset(own)) for group, own in drawn if len(own) >= 5)
    expected = sum(n for n in counts.values() if n > 1)
    labels = {str(i): sorted(own) for i, (_, own) in enumerate(drawn)}
    found = checked(labels, {str(i): group for i, (group, _) in enumerate(drawn)})

    assert sum(int(f.evidence["instances"] or 0) for f in found.findings) == expected


def written(path: Path, *records: tuple[str, list[str], str]) -> Path:
    lines = [json.dumps({"id": i, "labels": own, "part": part}) for i, own, part in records]
    path.write_text("\n".join(lines))
    return path


def test_an_id_in_two_places_counts_where_its_labels_are_equal(
    tmp_path: Path, toy_hierarchy: Hierarchy
) -> None:
    path = written(
        tmp_path / "l.jsonl",
        ("a", ["dog", "cow"], "train"),
        ("a", ["cow", "dog"], "test"),
        ("b", ["dog"], "train"),
        ("b", ["cow"], "train"),
        ("c", [], "train"),
        ("c", [], "train"),
        ("d", ["elf"], "train"),
        ("d", ["elf"], "train"),
    )
    dataset = load_labels(path, toy_hierarchy, split="part")
    measured = measure(dataset, Policy())
    (finding,) = CHECK.run(measured).findings

    assert dataset.instances["instance"].gather(met_twice(measured)).to_list() == ["a"]
    assert finding.id == "duplicate_instance:places"
    assert (finding.evidence["instances"], finding.evidence["of"]) == (1, 2)
