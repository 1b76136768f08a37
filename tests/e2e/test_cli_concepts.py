"""``audit concepts`` from files to a run: tables, what is shared, and mistakes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from audit.runs.schema import result_schema
from fixtures.commands import audit
from fixtures.representation_files import write_representations
from fixtures.represented_releases import (
    places_in_branches,
    represented_release,
    twelve_labels,
)

pytestmark = pytest.mark.slow

pytest.importorskip("sklearn")


class Files:
    """Representations that lack one label and mix two, the facets, the hierarchy, the labels."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.given = represented_release(absent="b2", entangled=("a0", "a3"))
        self.path, self.facets = folder / "layers.npz", folder / "facets.csv"
        write_representations(self.given, self.path)
        places_in_branches().drop("nested").write_csv(self.facets)
        twelve_labels().edge_frame().write_csv(folder / "tree.csv")
        labels = pl.col("labels").list.first()
        self.labels = self.given.instances.select(instance="id", label=labels)
        self.labels.write_csv(folder / "labels.csv")

    def command(self, out: str, *options: object, path: Path | None = None) -> Any:
        own = "--facets", self.facets, "--hierarchy", self.folder / "tree.csv", "--seeds", 1
        given = path or self.path, *own, "--no-pdf", "--out", self.folder / out, *options
        return audit("concepts", *given)

    def run(self, out: str, *options: object, path: Path | None = None) -> Any:
        made = self.command(out, *options, path=path)
        assert made.exit_code == 0, made.output
        return json.loads((self.folder / out / "result.json").read_bytes())

    def predicting(self, name: str, said: pl.Expr) -> Path:
        """The representations with other predictions."""
        instances = self.given.instances.with_columns(prediction=said)
        write_representations(replace(self.given, instances=instances), self.folder / name)
        return self.folder / name


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("concepts"))


@pytest.fixture(scope="module")
def alone(files: Files) -> Any:
    return files.run("alone")


def test_what_is_planted_stands_in_the_table_of_nodes(alone: Any) -> None:
    rows = {row["node"]: row for row in alone["concepts"]["nodes"]}
    assert rows["b2"]["readable"] < 0.75
    assert (rows["a0"]["sibling"], rows["a3"]["sibling"]) == ("a3", "a0")
    assert rows["a0"]["separable"] < 0.75
    assert [check["name"] for check in alone["checks"]] == ["waiver_expired", "waiver_unused"]
    assert alone["identity"]["data"]["format"] == "representations"
    assert alone["concepts"]["facts"]["instances"] == 480
    Draft202012Validator(result_schema()).validate(alone)


def test_a_run_is_made_again_verified_and_reported(files: Files, alone: Any) -> None:
    folder = files.folder / "alone"
    assert audit("verify", folder, "--recompute").exit_code == 0
    assert audit("report", folder, "--no-pdf").exit_code == 0
    assert json.loads((folder / "result.json").read_bytes())["concepts"] == alone["concepts"]


@pytest.mark.parametrize("name", ["{}", "LABEL_{}"])
def test_predictions_none_of_which_is_a_label_are_refused(files: Files, name: str) -> None:
    place = pl.col("labels").list.first().rank("dense") - 1
    numbered = files.predicting("numbered.npz", pl.format(name, place))
    made = files.command("numbered", path=numbered)
    assert (made.exit_code, "predictions among the labels" in made.output) == (2, True)


def test_predictions_of_the_run_say_which_concepts_are_used(files: Files) -> None:
    """On every second instance a0 and a3 are exchanged."""
    silent = files.predicting("silent.npz", pl.lit(None, pl.String))
    row, exchange = pl.int_range(pl.len()), {"a0": "a3", "a3": "a0"}
    said = pl.when(row % 2 == 1).then(pl.col("label").replace(exchange)).otherwise("label")
    answered = files.labels.select("instance", node=said, score=1.0)
    answered.write_csv(files.folder / "answers.csv")
    beside = ("--labels", files.folder / "labels.csv", "--min-cell", 1)
    predicted = ("--predictions", files.folder / "answers.csv")
    shared = files.run("confused", *beside, *predicted, path=silent)

    assert shared["concepts"]["facts"]["answers_from"] == "predictions"
    rows = {row["node"]: row for row in shared["concepts"]["nodes"]}
    assert rows["a0"]["predicted"] == pytest.approx(0.67, abs=0.02)
    assert rows["a1"]["predicted"] == 1
    assert "unexpected_pair" in {check["name"] for check in shared["checks"]}


def test_labels_of_other_instances_are_refused(files: Files) -> None:
    others = files.folder / "others.csv"
    files.labels.with_columns(pl.format("x{}", "instance").alias("instance")).write_csv(others)
    made = files.command("none", "--labels", others)
    assert (made.exit_code, "no id in common" in made.output) == (2, True), made.output
    assert not (files.folder / "none").exists()


def test_depths_are_nested_dimensions_that_are_read_and_never_removed(files: Files) -> None:
    shared = files.run("nested", "--depth", 1, "--depth", 2)["concepts"]
    kinds = {row["dimension"]: row["kind"] for row in shared["dimensions"]}
    assert kinds == {"branch": "crossed", "place": "crossed", "depth 1": "nested",
                     "depth 2": "nested"}  # fmt: skip
    told = {(row["test"], row["dimension"]): row["verdict"] for row in shared["tests"]}
    assert told["is_modular", "depth 1"] == told["is_causal", "depth 1"] == "not_applicable"
    assert told["is_token_of_type", "depth 1"] != "not_applicable"
    assert told["is_token_of_type", "depth 2"] == "not_applicable", "no class of it is unseen"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--label", "code"), "--label can be given only with --labels"),
        (("--layer", "third", "--facets", "FACETS"), "the name of a layer is required"),
        ((), "the concepts of labels are required"),
        (("--facets", "nothing.csv"), "nothing.csv"),
        (("--depth", "9", "--hierarchy", "TREE"), "facets that describe the labels"),
    ],
)
def test_a_mistake_is_one_message(files: Files, options: tuple[str, ...], message: str) -> None:
    places = {"FACETS": files.facets, "TREE": files.folder / "tree.csv"}
    given = [places.get(option, option) for option in options]
    made = audit("concepts", files.path, "--out", files.folder / "none", *given)
    assert (made.exit_code, message in " ".join(made.output.split())) == (2, True), made.output
    assert not (files.folder / "none").exists()


def test_a_random_encoder_passes_nothing_and_what_is_not_read_is_undecided(files: Files) -> None:
    noise = represented_release(
        per_label=40, entangled=tuple("abc"[k // 4] + str(k % 4) for k in range(12))
    )
    write_representations(noise, files.folder / "noise.npz")
    shared = files.run("noise", "--min-cell", 1, path=files.folder / "noise.npz")["concepts"]
    assert "pass" not in {row["verdict"] for row in shared["tests"]}
    removed = [row for row in shared["tests"] if row["test"] in ("is_modular", "is_causal")]
    assert {row["verdict"] for row in removed} <= {"undecided", "not_applicable"}
    assert all(row["reason"] for row in removed)
