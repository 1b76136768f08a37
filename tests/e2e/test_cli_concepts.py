"""``audit concepts`` from files to a run: findings, tables, what is shared, and mistakes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from jsonschema import Draft202012Validator

from audit.analyses.concepts.reading import write_representations
from audit.results.result import to_json_bytes
from audit.runs.read import read_run
from audit.runs.schema import result_schema
from fixtures.commands import audit
from fixtures.represented_releases import (
    places_in_branches,
    represented_release,
    twelve_labels,
)

pytestmark = pytest.mark.slow

pytest.importorskip("sklearn")
ROOT = Path(__file__).parents[2]


class Files:
    """Representations that lack one label and mix two, the facets, the hierarchy, the labels."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.representations = represented_release(absent="b2", entangled=("a0", "a3"))
        self.path, self.facets = folder / "layers.npz", folder / "facets.csv"
        write_representations(self.representations, self.path)
        places_in_branches().drop("nested").write_csv(self.facets)
        self.hierarchy = folder / "tree.csv"
        twelve_labels().edge_frame().write_csv(self.hierarchy)
        self.labels = folder / "labels.csv"
        instances = self.representations.instances
        rows = instances.select(instance="id", label=pl.col("labels").list.first())
        rows.write_csv(self.labels)

    def run(self, out: str, *options: object, path: Path | None = None) -> Any:
        own = ("--facets", self.facets, "--hierarchy", self.hierarchy, "--seeds", 1, "--no-pdf")
        made = audit("concepts", path or self.path, *own, "--out", self.folder / out, *options)
        assert made.exit_code == 0, made.output
        return json.loads((self.folder / out / "result.json").read_bytes())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("concepts"))


@pytest.fixture(scope="module")
def alone(files: Files) -> Any:
    return files.run("alone")


def findings(shared: Any) -> dict[str, list[list[str]]]:
    return {
        check["name"]: [[node["id"] for node in one["nodes"]] for one in check["findings"]]
        for check in shared["checks"]
    }


def test_what_is_planted_stands_in_the_table_of_nodes(alone: Any) -> None:
    rows = {row["node"]: row for row in alone["concepts"]["nodes"]}
    assert rows["b2"]["readable"] < 0.75
    assert (rows["a0"]["sibling"], rows["a3"]["sibling"]) == ("a3", "a0")
    assert rows["a0"]["separable"] < 0.75


def test_without_a_dataset_no_check_of_a_dataset_is_there(alone: Any) -> None:
    assert list(findings(alone)) == ["waiver_expired", "waiver_unused"]
    assert alone["identity"]["data"]["format"] == "representations"
    assert alone["concepts"]["facts"]["instances"] == 480


@pytest.mark.parametrize("name", ["{}", "LABEL_{}", "Class {}"])
def test_predictions_none_of_which_is_a_label_are_refused(files: Files, name: str) -> None:
    labels = files.representations.instances["labels"].list.first()
    numbers = [name.format(int(place)) for place in labels.rank("dense") - 1]
    instances = files.representations.instances.with_columns(prediction=pl.Series(numbers))
    path = files.folder / "numbered.npz"
    write_representations(replace(files.representations, instances=instances), path)
    own = ("--facets", files.facets, "--hierarchy", files.hierarchy, "--seeds", 1, "--no-pdf")
    made = audit("concepts", path, *own, "--out", files.folder / "numbered")
    assert (made.exit_code, "predictions among the labels" in made.output) == (2, True)


def test_the_result_is_as_its_schema_says(alone: Any) -> None:
    schema = result_schema()
    Draft202012Validator(schema).validate(alone)


def test_the_run_reads_back_to_the_same_bytes(files: Files, alone: Any) -> None:
    folder = files.folder / "alone"
    assert to_json_bytes(read_run(folder).shared()) == (folder / "result.json").read_bytes()


def test_verify_report_and_judge_work_on_the_run(files: Files, alone: Any) -> None:
    folder = files.folder / "alone"
    assert audit("verify", folder, "--recompute").exit_code == 0
    assert audit("report", folder, "--no-pdf").exit_code == 0
    policy = files.folder / "strict.toml"
    policy.write_text('title = "Ours"\n')
    assert audit("report", folder, "--overwrite", "--policy", policy, "--no-pdf").exit_code == 0
    judged = json.loads((folder / "result.json").read_bytes())
    assert judged["concepts"] == alone["concepts"]


def test_with_the_labels_the_dataset_is_audited_too(files: Files) -> None:
    both = files.run("both", "--labels", files.labels)
    assert "unexpected_pair" in findings(both)
    assert both["identity"]["data"]["format"] == "table"


@pytest.fixture(scope="module")
def confused(files: Files) -> Any:
    """A run whose representations come without predictions, of a model that confuses two labels."""
    silent = files.folder / "silent.npz"
    instances = files.representations.instances
    bare = instances.with_columns(prediction=pl.lit(None, pl.String))
    write_representations(replace(files.representations, instances=bare), silent)
    answered = instances.with_row_index("row").select(
        instance="id", node=pl.struct("row", label=pl.col("labels").list.first()), score=1.0
    )
    answered = answered.with_columns(
        pl.col("node").map_elements(lambda one: answer(**one), pl.String)
    )
    answered.write_csv(files.folder / "answers.csv")
    beside = ("--labels", files.labels, "--predictions", files.folder / "answers.csv")
    return files.run("confused", "--min-cell", 1, *beside, path=silent)


def answer(row: int, label: str) -> str:
    """On every second instance a0 and a3 are exchanged; on every eighth any label is answered."""
    if row % 8 == 0:
        return f"{'abc'[row // 8 % 3]}{row // 24 % 4}"
    return {"a0": "a3", "a3": "a0"}.get(label, label) if row % 2 else label


def test_mistakes_of_the_predictions_are_counted_beside_the_sibling(
    files: Files, confused: Any
) -> None:
    assert findings(confused)["model_confuses"] == [["a0", "a3"]]
    instances = files.representations.instances
    labels = enumerate(instances["labels"].list.first())
    exchanged = [(label, answer(row, label)) for row, label in labels]
    row = next(one for one in confused["concepts"]["nodes"] if one["node"] == "a0")
    assert row["sibling"] == "a3"
    assert row["taken_for_sibling"] == exchanged.count(("a0", "a3"))
    assert row["sibling_taken_for_it"] == exchanged.count(("a3", "a0"))


def test_labels_of_other_instances_are_refused(files: Files) -> None:
    others = files.folder / "others.csv"
    pl.read_csv(files.labels).with_columns(instance=pl.lit("x") + pl.col("instance")).write_csv(
        others
    )
    own = ("--facets", files.facets, "--hierarchy", files.hierarchy, "--labels", others)
    made = audit("concepts", files.path, *own, "--out", files.folder / "none")
    assert made.exit_code == 2
    assert "no id in common: 'i0000'" in " ".join(made.output.split())
    assert not (files.folder / "none").exists()


def test_predictions_of_the_run_say_which_concepts_are_used(files: Files, confused: Any) -> None:
    facts = confused["concepts"]["facts"]
    assert (facts["predicted"], facts["answers_from"]) == (False, "predictions")
    used = [row["predicted"] for row in confused["concepts"]["nodes"] if row["siblings"]]
    assert used
    assert None not in used
    page = (files.folder / "confused" / "report.html").read_text("utf-8")
    assert "Nodes are compared with" in page
    assert audit("verify", files.folder / "confused", "--recompute").exit_code == 0


def test_depths_of_the_hierarchy_are_nested_dimensions(files: Files) -> None:
    shared = files.run("nested", "--depth", 1)["concepts"]
    kinds = {row["dimension"]: row["kind"] for row in shared["dimensions"]}
    assert kinds == {"branch": "crossed", "place": "crossed", "depth 1": "nested"}
    nested = [row for row in shared["tests"] if row["dimension"] == "depth 1"]
    modular = {row["verdict"] for row in nested if row["test"] in ("is_modular", "is_causal")}
    assert modular <= {"not_applicable"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--label", "code"), "--label can be given only with --labels"),
        (("--labels", "labels.csv"), "--labels needs --hierarchy"),
        (("--layer", "third", "--facets", "FACETS"), "the name of a layer is required"),
        ((), "the concepts of labels are required"),
        (("--facets", "nothing.csv"), "nothing.csv"),
        (("--baseline", "nothing.npz", "--facets", "FACETS"), "nothing.npz"),
    ],
)
def test_a_mistake_is_one_message(files: Files, options: tuple[str, ...], message: str) -> None:
    given = [files.facets if option == "FACETS" else option for option in options]
    made = audit("concepts", files.path, "--out", files.folder / "none", *given)
    assert made.exit_code == 2
    assert message in made.output
    assert not (files.folder / "none").exists()


def test_the_same_files_give_the_same_bytes(files: Files, alone: Any) -> None:
    assert files.run("again")["concepts"] == alone["concepts"]


def test_the_terminal_shows_the_tests_of_each_dimension(files: Files) -> None:
    own = ("--facets", files.facets, "--hierarchy", files.hierarchy, "--seeds", 1, "--no-pdf")
    made = audit("concepts", files.path, *own, "--out", files.folder / "shown")
    lines = [" ".join(line.split()) for line in made.output.splitlines()]
    assert "Does the model have the concepts?" in lines
    assert any(line.startswith("branch ") for line in lines)
    assert any(line.startswith("place ") for line in lines)
    assert "Layer tested last" in lines
