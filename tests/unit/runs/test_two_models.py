"""Two models in one audit: what `audit compare` says of two audits, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from audit._reports.chapters.model_verdict import model_verdict
from audit.base.errors import InputError
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions
from audit.policy.policy import Policy
from audit.runs.audit import run_audit
from audit.runs.compare.comparison import compare_runs
from audit.runs.folder import write_run
from audit.runs.instances import instance_frame
from audit.runs.read import read_run
from fixtures.labelled import labelled, tree
from fixtures.predicted import predicted

LEAVES = ("asthma", "cough", "attack", "angina")
BODY = ("lung heart < body", "asthma cough < lung", "attack angina < heart")
SIDES = {"first": "old", "second": "new", "n_first": "n_old", "n_second": "n_new"}


def drawn(n: int = 200) -> LabelDataset:
    labels = np.random.default_rng(0).choice(LEAVES, n)
    return labelled(tree(*BODY), {f"i{i:04}": [str(label)] for i, label in enumerate(labels)})


def answered(dataset: LabelDataset, seed: int, skill: float, **kind: Any) -> Predictions:
    """A model that is right with a probability; it answers the first of the instances."""
    random, only = np.random.default_rng(seed), kind.pop("only", None)
    ids = dataset.instances["instance"].to_list()
    names = [dataset.hierarchy.nodes[node] for node in dataset.direct.indices]
    scores: dict[str, Mapping[str, float]] = {}
    for one, label in zip(ids[:only], names, strict=False):
        best = label if random.random() < skill else str(random.choice(LEAVES))
        rest = random.dirichlet(np.ones(len(LEAVES))) * (0 if kind.get("set_valued") else 0.4)
        weights = zip(LEAVES, rest, strict=True)
        whole = 1 - float(rest.sum())
        scores[one] = {leaf: float(part) + whole * (leaf == best) for leaf, part in weights}
    return predicted(dataset, scores, **kind)


MODELS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "one answer each": ({}, {}),
    "of fewer instances": ({}, {"only": 150}),
    "sets": ({"set_valued": True}, {"set_valued": True}),
    "answers and sets": ({}, {"set_valued": True}),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "least"), [*((kind, 11) for kind in MODELS), ("answers and sets", 1)]
)
def test_two_models_differ_as_two_runs_that_are_compared(
    kind: str, least: int, tmp_path: Path
) -> None:
    dataset, policy = drawn(), Policy(min_cell=least)
    models = [
        answered(dataset, seed, skill, **of)
        for seed, skill, of in zip((1, 2), (0.5, 0.9), MODELS[kind], strict=True)
    ]
    runs = [
        replace(
            run_audit(dataset, policy, predictions=one),
            instances=instance_frame(dataset, one).lazy(),
        )
        for one in models
    ]
    result = run_audit(dataset, policy, predictions=models)
    shared, alone = result.shared(), [run.shared() for run in runs]
    two, compared = shared.pop("models"), compare_runs(*runs).shared()["model"]

    names = two.pop("names")
    told = [
        reading | {"decision": f"{name}: {reading['decision']}"}
        for name, run in zip(names, alone, strict=True)
        for reading in run["readings"]
    ]
    assert names == ["first model", "second model"]
    assert shared == alone[0] | {"readings": told}
    assert two.pop("ledger") == alone[1]["ledger"]["predictions"]
    own = [
        {name: row[name] for name in ("name", "parameters")} for row in compared["metrics"]["rows"]
    ]
    for side, run in zip(("first", "second"), alone, strict=True):
        for row, key in zip(two["metrics"]["rows"], own, strict=True):
            ends = [row.pop(f"{side}_{end}") for end in ("low", "high")]
            of = [m for m in run["metrics"] if m["scope"] == "all" and m | key == m]
            shown = of and row[side] is not None
            assert ends == ([of[0]["low"], of[0]["high"]] if shown else [None, None])
    for part in ("metrics", "confusions"):
        rows = two[part]["rows"]
        two[part]["rows"] = [{SIDES.get(n, n): value for n, value in row.items()} for row in rows]
    assert two == compared
    kept = read_run(write_run(result, tmp_path / "run"))
    assert kept.shared() == result.shared()


def verdict(*skills: float, n: int = 200, only: int | None = None) -> str:
    dataset = drawn(n)
    first, second = (answered(dataset, seed, skill) for seed, skill in enumerate(skills, 1))
    second = answered(dataset, 2, skills[1], only=only) if only else second
    found = model_verdict(run_audit(dataset, predictions=[first, second]).shared())
    assert found is not None
    assert found.table.columns[-1].heading == "Difference"
    return found.sentence


def test_a_sentence_says_which_is_better_and_over_what() -> None:
    better, worse, alike = verdict(0.3, 0.95), verdict(0.95, 0.3), verdict(0.6, 0.6, n=60)

    start = "By Accuracy, over 200 instances that both answered, second model is"
    assert better.startswith(f"{start} better than first model: +")
    assert worse.startswith(f"{start} worse than first model: −")
    assert "neither first model nor second model is shown to be better" in alike
    assert "over 200 and 150 instances of which both answered 150" in verdict(0.3, 0.9, only=150)


def test_classes_that_either_adds_to_the_hierarchy_are_in_both() -> None:
    dataset = drawn(20)
    wider = dataset.hierarchy.extend(
        pl.DataFrame({"child": ["murmur"], "parent": ["heart"]}),
        pl.DataFrame({"node": ["murmur"], "title": [None], "assignable": [True]}),
    )
    first, second = answered(dataset, 1, 0.5), answered(dataset, 2, 0.9)
    ledger = replace(second.ledger, hung_classes={"murmur": "murmur"})
    grown = replace(second.within(wider), ledger=ledger)

    plain, added = (run_audit(dataset, predictions=[first, one]) for one in (second, grown))

    assert "murmur" in added.nodes["node"]
    assert added.shared()["models"] == plain.shared()["models"]


def test_what_cannot_be_compared_is_refused() -> None:
    dataset = drawn(20)
    first, second = answered(dataset, 1, 0.5, only=5), answered(dataset, 2, 0.9)
    apart = replace(first, rows=np.arange(10, 15), instances=second.instances[10:15])
    for models, found in (
        ([first, first], "twice"),
        ([first, second, apart], "the predictions of 3"),
        ([first, apart], "only 'i0000', .*, and only 'i0010'"),
        ([first, "scores.csv"], "builtins.str"),
    ):
        with pytest.raises(InputError, match=found):
            run_audit(dataset, predictions=models)  # type: ignore[arg-type]
