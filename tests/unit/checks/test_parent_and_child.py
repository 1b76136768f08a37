"""parent_and_child: labels beside their own ancestors, worked by hand and against plain Python."""

from __future__ import annotations

from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import measure
from audit.policy.policy import Policy
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled

CHECK = CHECK_OF["parent_and_child"]

LABELS = {
    "a": ["dog", "pet", "tool"],
    "b": ["dog", "pet", "mammal", "animal"],
    "c": ["cow", "bird"],
    "d": ["dog", "dog"],
    "e": [],
}


def test_grandparents_beside_a_label_are_no_habit_of_parents(toy_hierarchy: Hierarchy) -> None:
    labels = {f"i{at}": ["dog", "animal"] if at % 2 else ["dog"] for at in range(100)}

    assert CHECK.run(measure(labelled(toy_hierarchy, labels), Policy())).status == "pass"


def test_the_policy_overrules_the_hierarchy(toy_hierarchy: Hierarchy) -> None:
    dataset = labelled(toy_hierarchy, LABELS)

    assert CHECK.run(measure(dataset, Policy(labelled_ancestors="fault"))).status == "warn"
