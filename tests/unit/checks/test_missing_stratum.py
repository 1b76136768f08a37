"""missing_stratum: pairs that a column brings about vanish within it; others and noise do not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from audit.base.plurals import filled
from audit.data.dataset import load_labels
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.measure import Measurements, measure
from audit.policy.policy import Policy
from audit.results.findings import CheckResult
from fixtures.checked import CHECK_OF
from fixtures.labelled import labelled, tree

CHECK = CHECK_OF["missing_stratum"]

LEAVES = [f"{branch}{n}" for branch in "abcd" for n in range(1, 6)]
BODY: Hierarchy = tree(
    "a b c d < top",
    *(f"{' '.join(f'{branch}{n}' for n in range(1, 6))} < {branch}" for branch in "abcd"),
)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def two_ages(
    draw: np.random.Generator, n: int = 3000
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """The old have labels of all branches, the young of two; independent within each age."""
    labels, age = {}, {}
    for i in range(n):
        young = draw.random() < 0.2
        own = [leaf for leaf in LEAVES if (leaf[0] in "ab") == young]
        instance = f"i{i:04}"
        labels[instance] = [leaf for leaf in own if draw.random() < 0.3]
        age[instance] = "young" if young else "old"
    return labels, age


def noise(draw: np.random.Generator, labels: Mapping[str, object]) -> dict[str, str]:
    return {instance: str(draw.integers(3)) for instance in labels}


def measured(
    labels: Mapping[str, list[str]], policy: Policy | None = None, **columns: Mapping[str, str]
) -> Measurements:
    return measure(labelled(BODY, labels, strata=columns), policy or Policy())


def checked(
    labels: Mapping[str, list[str]], policy: Policy | None = None, **columns: Mapping[str, str]
) -> CheckResult:
    return CHECK.run(measured(labels, policy, **columns))


def test_pairs_that_age_brings_about_vanish_by_age(rng: np.random.Generator) -> None:
    labels, age = two_ages(rng)
    found = measured(labels, age=age)
    result = CHECK.run(found)
    (finding,) = result.findings
    values = finding.evidence

    assert (result.status, result.denominator) == ("note", 1)
    assert finding.id == "missing_stratum:age"
    assert values["pairs"] == values["vanished"] == len(found.excess.found) > 1
    within = measured(labels, Policy(strata=("age",)), age=age)
    assert within.excess.found.is_empty()
    told = filled(finding.statement, values)
    assert told.startswith(f"{values['vanished']} of the {values['pairs']} reported pairs are ")
    assert "explained by age" in told


def test_its_cases_carry_both_nodes_of_a_pair_that_vanishes(rng: np.random.Generator) -> None:
    labels, age = two_ages(rng)
    found = measured(labels, age=age)
    (finding,) = CHECK.run(found).findings
    names = found.hierarchy.nodes
    pairs = [{names[a][0], names[b][0]} for a, b in found.excess.found.select("a", "b").iter_rows()]
    ids = found.loaded.dataset.instances["instance"].gather(CHECK.cases(found, finding)).to_list()

    assert finding.evidence["instances"] == len(ids) == finding.touched
    assert all(any(pair <= {leaf[0] for leaf in labels[i]} for pair in pairs) for i in ids)


def test_a_column_of_noise_explains_nothing(rng: np.random.Generator) -> None:
    labels, _ = two_ages(rng)

    assert checked(labels, site=noise(rng, labels)).status == "pass"


def test_an_association_within_each_value_does_not_vanish(rng: np.random.Generator) -> None:
    labels = {f"i{i:04}": [x for x in LEAVES if rng.random() < 0.1] for i in range(3000)}
    for instance in list(labels)[:200]:
        labels[instance] = [*labels[instance], "a1", "c1"]
    found = measured(labels, site=noise(rng, labels))

    assert len(found.excess.found) > 0
    assert CHECK.run(found).findings == ()


def test_two_columns_are_told_together_where_neither_explains_all(rng: np.random.Generator) -> None:
    labels, age, sex = {}, {}, {}
    for i in range(6000):
        old, male, instance = rng.random() < 0.5, rng.random() < 0.5, f"i{i:04}"
        of_age, of_sex = dict.fromkeys(["a1", "b1"], old), dict.fromkeys(["c1", "d1"], male)
        often = {leaf: 0.5 if on else 0.02 for leaf, on in (of_age | of_sex).items()}
        labels[instance] = [leaf for leaf in LEAVES if rng.random() < often.get(leaf, 0.2)]
        age[instance], sex[instance] = str(old), str(male)
    found = measured(labels, age=age, sex=sex)
    names = found.hierarchy.nodes
    vanished = {
        columns: {(names[a], names[b]) for a, b in found.vanished_within(columns).iter_rows()}
        for columns in (("age",), ("sex",), ("age", "sex"))
    }

    assert vanished["age",] == {("a1", "b1")}
    assert vanished["sex",] == {("c1", "d1")}
    assert vanished["age", "sex"] == {("a1", "b1"), ("c1", "d1")}
    assert [(f.key, f.evidence["vanished"]) for f in CHECK.run(found).findings] == [
        (("age", "sex"), 2)
    ]  # one pair is too few for a column alone


def test_a_column_of_the_file_that_nobody_named_is_tried(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    labels, age = two_ages(rng)
    rows = [
        (i, leaf, age[i], str(n), f"{i} {leaf}")
        for i, own in labels.items()
        for n, leaf in enumerate(own)
    ]
    file = tmp_path / "release.csv"
    names = ["id", "label", "Age", "place", "text"]
    pl.DataFrame(rows, names, orient="row").write_csv(file)
    found = measure(load_labels(file, BODY), Policy())

    assert found.loaded.dataset.unnamed.columns == ["Age"]
    assert found.loaded.columns == ("split",)
    assert [finding.key for finding in CHECK.run(found).findings] == [("Age",)]
    named = measure(load_labels(file, BODY, strata=["age"]), Policy(strata=("age",)))
    assert named.loaded.dataset.unnamed.columns == []
    assert named.excess.found.is_empty()
