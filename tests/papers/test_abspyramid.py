"""*AbsPyramid* against its definitions: tables 1 to 4 and 7, and what is printed in them."""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from sklearn.metrics import accuracy_score, average_precision_score, f1_score, roc_auc_score

from fixtures.abspyramid_paper import (
    AGREEMENT,
    MAJORITY_ACCURACY,
    RANDOM_F1,
    TABLE_1,
    TABLE_2,
    TABLE_3,
    TABLE_18,
)
from fixtures.brute_force_texts import agreed, aps, bleu_1, coin, grams, key, rouge, unique, words
from fixtures.paper_inputs import entailments, write_rows
from fixtures.paper_runs import made, table

SAMPLE = Path(__file__).parents[2] / "sample_data" / "entailment"
KINDS = ("Noun-Entail", "Verb-Entail", "Event-Entail", "All")
SPLITS = ("train", "valid", "test", "All")
Rows = list[dict[str, Any]]


class Release:
    """Tuples, predictions and texts, and the run that measures them."""

    def __init__(self, folder: Path, files: Path) -> None:
        self.tuples, self.scores, self.texts = (
            list(csv.DictReader((files / f"{name}.csv").read_text("utf-8").splitlines()))
            for name in ("tuples", "scores", "generations")
        )
        self.run = made(
            folder / "run", "entailment", files / "tuples.csv", "--column", "votes=worker_*",
            "--predictions", files / "scores.csv", "--generations", files / "generations.csv",
        )  # fmt: skip

    def of(self, relation: str, split: str = "All") -> list[dict[str, str]]:
        return [
            row for row in self.tuples
            if relation in ("All", row["relation"]) and split in ("All", row["split"])
        ]  # fmt: skip

    def table(self, name: str, **where: object) -> Rows:
        return table(self.run, f"entailment_{name}", **where)


def made_up(folder: Path) -> Release:
    for name, rows in entailments().items():
        write_rows(folder / f"{name}.csv", [list(rows[0]), *(list(row.values()) for row in rows)])
    return Release(folder, folder)


def sample(folder: Path) -> Release:
    return Release(folder, SAMPLE)


@pytest.fixture(scope="module", params=[made_up, pytest.param(sample, marks=pytest.mark.slow)])
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Release:
    make: Callable[[Path], Release] = request.param
    return make(tmp_path_factory.mktemp(make.__name__))


each_relation = pytest.mark.parametrize("relation", KINDS)


@each_relation
@pytest.mark.parametrize("split", SPLITS)
def test_tables_1_and_3_count_tuples_and_references(
    relation: str, split: str, release: Release
) -> None:
    rows = release.of(relation, split)
    valid = [row for row in rows if row["label"] == "1"]
    (total,) = release.table("quality_totals", relation=relation, split=split)
    (reference,) = release.table("quality_references", relation=relation, split=split)
    assert (total["tuples"], total["valid"]) == (len(rows), len(valid))
    assert total["share"] == pytest.approx(len(valid) / len(rows))
    assert reference["references"] == pytest.approx(len(valid) / len({key(row) for row in valid}))


def test_three_concepts_have_these_values() -> None:
    concepts = ["animal", "wild animal", "big wild animal"]
    found = [bleu_1(c, [other for other in concepts if other != c]) for c in concepts]
    assert found == pytest.approx([0.36788, 1, 0.66667], abs=5e-6)


@each_relation
def test_table_2_tells_how_diverse_concepts_and_heads_are(relation: str, release: Release) -> None:
    rows = release.of(relation)
    (row,) = release.table("quality_diversity", relation=relation)
    heads = {row["head"] for row in rows}
    assert row["unique"] == pytest.approx(unique(rows))
    assert row["unique_without_penalty"] == pytest.approx(unique(rows, penalised=False))
    assert row["social"] == pytest.approx(
        mean(bool(re.search(r"\bPerson[XYZ]\b", h)) for h in heads)
    )
    texts = heads | {row["concept"] for row in rows}
    assert row["vocabulary"] == len({word for text in texts for word in words(text)})


@each_relation
def test_annotators_agree_so_much(relation: str, release: Release) -> None:
    votes = [[v for name, v in row.items() if name.startswith("worker_") and v != ""]
             for row in release.of(relation)]  # fmt: skip
    rows = release.table("quality_agreement", relation=relation)
    found = {row["measure"]: row["value"] for row in rows}
    same, kappa = agreed(votes)
    alpha = kappa + (1 - kappa) / sum(map(len, votes))
    assert [found[m] for m in ("pairwise", "fleiss", "alpha")] == pytest.approx(
        [same, kappa, alpha]
    )


def test_eight_labels_have_these_average_precisions() -> None:
    labels, scores = [1, 0, 1, 0, 0, 1, 0, 0], [8, 7, 6, 5, 4, 3, 2, 1]
    assert average_precision_score(labels, scores) == pytest.approx(0.72222, abs=5e-6)
    assert aps(labels, scores) == pytest.approx(0.55556, abs=5e-6)


@each_relation
def test_table_4_measures_detection(relation: str, release: Release) -> None:
    score = {row["id"]: float(row["score"]) for row in release.scores}
    tested = [row for row in release.of(relation, "test") if row["id"] in score]
    labels, scores = [int(row["label"]) for row in tested], [score[row["id"]] for row in tested]
    said = [int(s >= 0.5) for s in scores]
    expected = {
        "accuracy": accuracy_score(labels, said),
        "macro_f1": f1_score(labels, said, average="macro"),
        "roc_auc": roc_auc_score(labels, scores),
        "average_precision": average_precision_score(labels, scores),
        "aps": aps(labels, scores),
    }
    rows = release.table("detection_measured", relation=relation, split="test")
    found = {row["measure"]: row["value"] for row in rows if row["kind"] == "model"}
    assert {measure: found[measure] for measure in expected} == pytest.approx(expected)
    q = mean(labels)
    stated = {("random", "accuracy"): 0.5, ("random", "macro_f1"): coin(q)}
    if relation != "All":
        most = max(q, 1 - q)
        stated |= {("majority", "accuracy"): most, ("majority", "macro_f1"): most / (1 + most)}
    baselines = {(row["model"], row["measure"]): row["expected"] for row in rows}
    assert {which: baselines[which] for which in stated} == pytest.approx(stated)


@each_relation
def test_table_7_measures_generation(relation: str, release: Release) -> None:
    asked = {row["id"]: row for row in release.tuples}
    references: dict[Any, set[str]] = defaultdict(set)
    for row in release.of(relation, "test"):
        if row["label"] == "1":
            references[key(row)].add(row["concept"])
    given = [(row["text"], references[key(asked[row["id"]])]) for row in release.texts
             if key(asked[row["id"]]) in references]  # fmt: skip
    expected = {}
    for n in (1, 2):
        hits = total = 0
        for text, known in given:
            own, most = grams(text.split(), n), Counter[tuple[str, ...]]()
            for reference in known:
                most |= grams(reference.split(), n)
            hits, total = hits + (own & most).total(), total + own.total()
        expected[f"bleu_{n}_precision"] = hits / total if total else 0.0
    best = [[max(part) for part in zip(*(rouge(text, r) for r in known), strict=True)]
            for text, known in given]  # fmt: skip
    expected["rouge_2_recall"], expected["rouge_l_f1"] = (mean(p) for p in zip(*best, strict=True))
    asked_of = [(row["text"], asked[row["id"]]) for row in release.texts]
    expected["repeats_instance"] = mean(
        text.lower() == row["instance"].lower() for text, row in asked_of if key(row) in references
    )
    rows = release.table("generation_measured", relation=relation, split="test")
    found = {row["measure"]: row["value"] for row in rows}
    assert {measure: found[measure] for measure in expected} == pytest.approx(expected)
    assert {row["n"] for row in rows} == {len(given)}


def test_printed_tables_add_up() -> None:
    parts = ("Noun", "Verb", "Event")
    for column in ("total", "train", "valid", "test"):
        for printed in (TABLE_1, TABLE_3):
            assert sum(getattr(printed[p], column) for p in parts) == getattr(
                printed["All"], column
            )
    for name, row in TABLE_1.items():
        assert row.total == row.train + row.valid + row.test
        assert round(100 * TABLE_3[name].total / row.total, 2) == row.positive
    instances = sum(TABLE_3[p].total / TABLE_3[p].references for p in parts)
    assert TABLE_3["All"].total / instances == pytest.approx(TABLE_3["All"].references, abs=0.011)
    for column, weighted in (("unique", 88.46), ("social", 29.91)):
        found = sum(getattr(TABLE_2[p], column) * TABLE_1[p].total for p in parts)
        assert round(found / TABLE_1["All"].total, 2) == weighted != getattr(TABLE_2["All"], column)
    for row in TABLE_18.values():
        assert row["All"] == round(mean(row[p] for p in parts), 2)


@pytest.mark.parametrize("split", RANDOM_F1)
def test_the_random_row_follows_from_the_majority_row(split: str) -> None:
    for name, q in MAJORITY_ACCURACY[split].items():
        assert round(100 * coin(q / 100), 2) == RANDOM_F1[split][name]


def test_printed_agreement_implies_the_printed_kappa() -> None:
    chance = sum((q / 100) ** 2 for q in (TABLE_1["All"].positive, 100 - TABLE_1["All"].positive))
    kappa = (AGREEMENT["pairwise"] / 100 - chance) / (1 - chance)
    assert round(kappa, 2) == AGREEMENT["fleiss"]
    votes = [("1" * n + "0" * (5 - n)) for n in (5, 5, 5, 5, 4, 4, 1, 1, 0, 0)]
    assert agreed(votes) == pytest.approx((0.84, 2 / 3))
