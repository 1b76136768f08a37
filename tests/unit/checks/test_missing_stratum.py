"""missing_stratum: pairs that a column brings about vanish within it; others and noise do not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from audit.base.plurals import filled
from audit.checks.rules import missing_stratum
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


@pytest.mark.parametrize("policy", [Policy(strata=("age",)), Policy()])
def test_without_a_column_to_try_it_does_not_apply(
    policy: Policy, rng: np.random.Generator
) -> None:
    labels, age = two_ages(rng, 200)
    columns = {"age": age} if policy.strata else {}

    assert "no column" in checked(labels, policy, **columns).not_applicable


def test_a_column_that_tells_every_instance_apart_is_none(rng: np.random.Generator) -> None:
    labels, _ = two_ages(rng, 200)

    assert checked(labels, ids={i: i for i in labels}).findings == ()
    assert "no column" in checked(labels).not_applicable


def test_without_a_reported_pair_it_passes() -> None:
    labels = {f"i{n}": ["a1", "b1"] for n in range(20)}
    found = checked(labels, site={i: str(n % 2) for n, i in enumerate(labels)})

    assert (found.status, found.denominator) == ("pass", 0)


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


def test_a_column_of_the_table_of_admissions_is_tried(
    rng: np.random.Generator, tmp_path: Path
) -> None:
    labels, age = two_ages(rng)
    rows = [(i, leaf) for i, own in labels.items() for leaf in own]
    pl.DataFrame(rows, ["HADM_ID", "ICD9_CODE"], orient="row").write_csv(
        tmp_path / "DIAGNOSES_ICD.csv"
    )
    admissions = [(i, kind, f"2100-01-0{kind[0] == 'y':d}") for i, kind in age.items()]
    names = ["HADM_ID", "ADMISSION_TYPE", "ADMITTIME"]
    pl.DataFrame(admissions, names, orient="row").write_csv(tmp_path / "ADMISSIONS.csv")
    result = CHECK.run(measure(load_labels(tmp_path, BODY), Policy()))

    assert result.denominator == 1
    assert [finding.key for finding in result.findings] == [("ADMISSION_TYPE",)]


RARE = [f"{branch}{n}" for branch in "abcdefgh" for n in range(1, 13)]
WIDE: Hierarchy = tree(
    "a b c d e f g h < top",
    *(f"{' '.join(f'{branch}{n}' for n in range(1, 13))} < {branch}" for branch in "abcdefgh"),
)


def stays(draw: np.random.Generator, copied: float) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Patients of three stays on average, each of which keeps labels of the stay before."""
    labels, patient = dict[str, list[str]](), dict[str, str]()
    often = np.clip((draw.pareto(1.2, len(RARE)) + 0.2) * 0.02, 0.002, 0.3)
    for number in range(1200):
        kept = draw.random(len(RARE)) < often
        for _ in range(draw.geometric(0.33)):
            fresh = draw.random(len(RARE)) < often
            kept = np.where(draw.random(len(RARE)) < copied, kept, fresh)
            stay = f"i{len(labels):04}"
            labels[stay], patient[stay] = [RARE[i] for i in np.flatnonzero(kept)], f"p{number}"
    return labels, patient


def test_a_patient_that_nobody_named_is_told_as_a_group(
    rng: np.random.Generator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels, patient = stays(rng, 0.9)
    dealt = dict(zip(labels, rng.permutation([*patient.values()]).tolist(), strict=True))
    rows = [(i, leaf, patient[i], dealt[i]) for i, own in labels.items() for leaf in own]
    file = tmp_path / "stays.csv"
    pl.DataFrame(rows, ["id", "label", "who", "dealt"], orient="row").write_csv(file)
    found = measure(load_labels(file, WIDE), Policy())
    told = CHECK.run(found)
    (finding,) = told.findings
    values = finding.evidence
    named = measure(load_labels(file, WIDE, group="who"), Policy())

    assert finding.key == ("who", "as groups")
    assert "--group who" in finding.curator
    assert told.denominator == 2
    assert values["vanished"] == values["pairs"] == len(found.excess.found) > 3
    assert len(CHECK.cases(found, finding)) == values["instances"]
    assert len(named.excess.found) < 2
    assert CHECK.run(named).findings == ()
    only_dealt = measure(load_labels(file, WIDE, group=None), Policy())
    monkeypatch.setattr(missing_stratum, "group_columns", lambda _: {"dealt": found_column(found)})
    assert CHECK.run(only_dealt).findings == ()
    monkeypatch.setattr(missing_stratum, "MOST_PART", 0.01)
    monkeypatch.setattr(missing_stratum, "BEYOND_CHANCE", -len(RARE))
    only_dealt.kept.clear()
    assert [one.key[0] for one in CHECK.run(only_dealt).findings] == ["dealt"]


def found_column(found: Measurements) -> pl.Series:
    return found.loaded.dataset.unnamed["dealt"]


def test_pairs_that_are_true_do_not_vanish_with_a_patient(rng: np.random.Generator) -> None:
    labels, patient = stays(rng, 0.0)
    for pair in map(str.split, ("a1 b2", "c3 d4", "e5 f6", "g7 h8", "a9 e9", "c8 f8")):
        for instance in rng.choice([*labels], 90, replace=False).tolist():
            labels[instance] = sorted({*labels[instance], *pair})
    found = measure(labelled(WIDE, labels, strata={"who": patient}), Policy())

    assert len(found.excess.found) >= missing_stratum.LEAST_FOR_GROUPS
    assert missing_stratum.group_hint(found) is None
    assert [*missing_stratum.group_columns(found)] == ["who"]


def sites(
    draw: np.random.Generator, habit: float, copied: float
) -> tuple[dict[str, list[str]], dict[str, str]]:
    """3,000 instances of 30 sites with habits, of which each keeps labels of the one before."""
    labels, site = dict[str, list[str]](), dict[str, str]()
    for number in range(30):
        often = 0.08 * np.exp(draw.normal(0, habit, len(RARE)))
        kept = draw.random(len(RARE)) < often
        for _ in range(100):
            kept = np.where(draw.random(len(RARE)) < copied, kept, draw.random(len(RARE)) < often)
            labels[f"i{len(labels):04}"] = [RARE[i] for i in np.flatnonzero(kept)]
            site[f"i{len(site):04}"] = f"s{number}"
    for pair in map(str.split, ("a1 b2", "c3 d4", "e5 f6", "g7 h8")):
        for instance in draw.choice([*labels], 40, replace=False).tolist():
            labels[instance] = sorted({*labels[instance], *pair})
    return labels, site


def test_groups_that_are_sites_are_told_as_strata_and_persons_are_not(
    rng: np.random.Generator,
) -> None:
    labels, site = sites(rng, 0.6, 0.0)
    found = measure(labelled(WIDE, labels, groups=site), Policy())
    within = missing_stratum.found_within_groups(found)
    told = CHECK.run(found)
    (finding,) = told.findings
    repeated, person = sites(rng, 0.6, 0.8)

    assert within is not None
    assert finding.key == ("as strata",)
    assert finding.evidence["within_strata"] == len(within)
    assert len(within) >= max(2 * len(found.excess.found), len(found.excess.found) + 2)
    assert len(CHECK.cases(found, finding)) == finding.touched
    assert told.denominator == 1
    persons = measure(labelled(WIDE, repeated, groups=person), Policy())
    assert missing_stratum.found_within_groups(persons) is None
