"""The command line with a model: predictions in, metrics, pairs and one instance out."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from jsonschema import Draft202012Validator
from typer.testing import Result

from audit.counting.pair_table import COLUMNS
from audit.explorer.records import Records
from audit.results.metric_list import METRICS
from audit.results.result import to_json_bytes
from audit.runs.read import read_run
from audit.runs.schema import result_schema
from fixtures.commands import audit
from fixtures.sealed_files import listed
from fixtures.toy import EDGES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
CLASSES = ("bird", "cow", "dog", "tool")
LABELS = ("dog", "cow", "tool", "bird", "dog", "cow")
SOFTMAX = np.array(
    [
        [0.0, 0.25, 0.75, 0.0],
        [0.0, 0.5, 0.5, 0.0],
        [0.0, 0.0, 0.125, 0.875],
        [1.0, 0.0, 0.0, 0.0],
        [0.0, 0.75, 0.25, 0.0],
        [0.25, 0.5, 0.25, 0.0],
    ]
)


class Release:
    """Labels of six instances and a model's scores of them, as files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hierarchy = self.write("toy.csv", ["child,parent", *map(",".join, EDGES)])
        rows = [f"{number},{label}" for number, label in enumerate(LABELS)]
        self.labels = self.write("labels.csv", ["instance,label", *rows])
        self.classes = self.write("classes.txt", list(CLASSES))
        self.scores = self.array("scores.npy", SOFTMAX)

    def write(self, name: str, lines: list[str]) -> Path:
        path = self.folder / name
        path.write_text("\n".join(lines) + "\n", "utf-8")
        return path

    def array(self, name: str, values: Any) -> Path:
        np.save(self.folder / name, np.asarray(values))
        return self.folder / name

    def audited(self, *options: object, out: str = "run", labels: Path | None = None) -> Result:
        place = ["--out", self.folder / out, "--no-pdf"]
        return audit("run", labels or self.labels, "--hierarchy", self.hierarchy, *place, *options)

    def with_scores(self, *options: object, **places: Any) -> Result:
        given = ["--predictions", self.scores, "--classes", self.classes]
        return self.audited(*given, *options, **places)

    def shared(self, out: str = "run") -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / out / "result.json").read_text("utf-8"))
        return found

    def table(self, name: str) -> pl.DataFrame:
        return pl.read_parquet(self.folder / "run" / "restricted" / f"{name}.parquet")


@pytest.fixture
def release(tmp_path: Path) -> Release:
    return Release(tmp_path)


def done(result: Result) -> Result:
    assert result.exit_code == 0, result.output
    return result


def refused(result: Result, folder: Path) -> str:
    """The one message of a mistake of the user's: exit status 2, no traceback, nothing left."""
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    assert result.stderr.count("Error: ") == 1
    assert result.stderr.startswith("Error: ")
    assert "Traceback" not in result.stderr
    assert not (folder / "run").exists()
    return result.stderr


# --- a run ----------------------------------------------------------------------------------


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_a_device_counts_the_same_and_is_kept_with_the_settings(release: Release) -> None:
    done(release.with_scores(out="plain"))
    done(release.with_scores("--device", "cpu"))
    plain, found = release.shared("plain"), release.shared()
    settings = json.loads((release.folder / "run" / "manifest.json").read_text("utf-8"))["settings"]
    pairs = model_pairs(release, "plain")

    assert found["identity"] == plain["identity"]
    assert settings["device"] == "cpu"
    assert model_pairs(release, "run").drop("confusion").equals(pairs.drop("confusion"))
    apart = (model_pairs(release, "run")["confusion"] - pairs["confusion"]).to_numpy()
    assert abs(apart).max() <= 1e-12
    done(audit("verify", release.folder / "run", "--recompute"))


def test_a_device_that_cannot_count_is_told_before_anything_is_read(
    release: Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_spec("torch") is not None:
        import torch

        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
        told = "a CUDA device that PyTorch can use is required"
    else:
        told = "hierarchy-audit[model]"
    release.labels.unlink()
    message = refused(release.with_scores("--device", "cuda"), release.folder)

    assert told in message


def test_a_run_with_predictions_leaves_their_tables(release: Release) -> None:
    done(release.with_scores())

    assert {path.name for path in (release.folder / "run" / "restricted").iterdir()} == {
        "nodes.parquet", "edges.parquet", "pairs.parquet", "residuals.parquet",
        "findings.parquet", "model_pairs.parquet", "metrics.parquet", "behaviours.parquet",
        "cases.parquet", "proposals.parquet",
        "exchanged_pairs.parquet", "exchanged_in_line.parquet", "answers.parquet",
        "suspects.parquet", "answered.parquet",
        "policy.json", "record.json", "manifest.json",
        "judged_pairs.parquet", "pair_margins.parquet",
        "pair_strata.parquet",
        "model_support.parquet",
    }  # fmt: skip


def test_without_predictions_no_table_of_a_model_is_left(release: Release) -> None:
    done(release.audited())
    shared = release.shared()

    assert not (release.folder / "run" / "restricted" / "model_pairs.parquet").exists()
    assert (shared["metrics"], shared["ledger"]["predictions"]) == ([], None)


def test_model_pairs_have_the_columns_of_pairs_and_co_predicted(release: Release) -> None:
    done(release.with_scores())
    model = model_pairs(release, "run").schema

    real = pl.Float64()
    further = [("co_predicted", pl.Int64()), ("confusion_low", real), ("confusion_high", real)]
    assert list(model.items()) == [*pl.Schema(COLUMNS).items(), *further]


def test_the_ledger_tells_of_the_predictions(release: Release) -> None:
    done(release.with_scores())
    told = release.shared()["ledger"]["predictions"]

    assert (told["classes_read"], told["classes_mapped"], told["instances_matched"]) == (4, 4, 6)
    assert (told["single_label"], told["set_valued"]) == (True, False)
    assert (told["confusion_threshold"], told["decision_threshold"]) == (1e-5, 0.5)


@pytest.mark.parametrize("options", [(), ("--min-cell", 3), ("--single-label",)])
def test_a_run_reads_back_to_the_bytes_of_its_result(
    release: Release, options: tuple[object, ...]
) -> None:
    done(release.with_scores(*options))
    run = release.folder / "run"

    assert to_json_bytes(read_run(run).shared()) == (run / "result.json").read_bytes()


def test_the_shared_view_validates(release: Release) -> None:
    done(release.with_scores())
    schema = result_schema()

    Draft202012Validator(schema).validate(release.shared())


def test_another_seed_moves_intervals_alone(release: Release) -> None:
    done(release.with_scores())
    done(release.with_scores("--seed", 1, out="other"))
    first, other = release.shared()["metrics"], release.shared("other")["metrics"]

    assert [m["value"] for m in first] == [m["value"] for m in other]
    assert [m["low"] for m in first] != [m["low"] for m in other]


def test_the_manifest_names_every_input(release: Release) -> None:
    done(release.with_scores())
    manifest = json.loads((release.folder / "run" / "manifest.json").read_text("utf-8"))
    named = {(source["role"], Path(source["path"]).name) for source in manifest["inputs"]}

    assert {
        ("data", "labels.csv"), ("hierarchy", "toy.csv"), ("predictions", "scores.npy"),
        ("classes", "classes.txt"),
    } <= named  # fmt: skip


# --- kinds of scores ------------------------------------------------------------------------


def logits(release: Release, values: Any) -> list[object]:
    return ["--predictions", release.array("logits.npy", values), "--classes", release.classes]


def model_pairs(release: Release, out: str) -> pl.DataFrame:
    model = read_run(release.folder / out).model
    assert model is not None
    return model.pairs.collect()


def test_softmax_turns_logits_into_the_scores_they_stand_for(release: Release) -> None:
    dense = (SOFTMAX + 0.01) / (1.04)
    release.scores = release.array("dense.npy", dense)
    done(release.with_scores(out="scores"))
    done(release.audited(*logits(release, np.log(dense) + 7), "--softmax", out="logits"))
    first, second = model_pairs(release, "scores"), model_pairs(release, "logits")

    assert first["joint"].to_list() == second["joint"].to_list()
    assert second["confusion"].to_list() == pytest.approx(first["confusion"].to_list(), abs=1e-12)


def test_single_label_asks_for_one_answer_of_any_scores(release: Release) -> None:
    release.scores = release.array("half.npy", SOFTMAX / 2)
    done(release.with_scores(out="several"))
    done(release.with_scores("--single-label", out="one"))
    several, one = (release.shared(out) for out in ("several", "one"))

    assert "accuracy" in {metric["name"] for metric in several["metrics_absent"]}
    assert "accuracy" in {metric["name"] for metric in one["metrics"]}


def test_classes_name_integer_labels_and_scores_alike(release: Release) -> None:
    numbers = [CLASSES.index(label) for label in LABELS]
    labels = release.array("labels.npy", np.array(numbers))
    done(release.with_scores())
    done(release.with_scores(labels=labels, out="arrays"))

    assert release.shared("arrays")["metrics"] == release.shared()["metrics"]


SETS = ["0|dog|cow", "1|cow", "2|tool", "3|bird", "4|cow", "5|cow|dog"]


def test_sets_are_predictions_without_scores(release: Release) -> None:
    done(release.audited("--predictions", release.write("predicted.psv", SETS)))
    shared = release.shared()

    assert shared["ledger"]["predictions"]["set_valued"] is True
    assert "uncertainty_alignment" in {metric["name"] for metric in shared["metrics_absent"]}
    assert "hierarchical_f1" in {metric["name"] for metric in shared["metrics"]}
    pairs = model_pairs(release, "run")
    assert pairs["joint"].to_list() == pairs["co_predicted"].to_list()


# --- one instance ---------------------------------------------------------------------------


def test_cases_draws_labels_and_predictions_of_an_instance_in_one_tree(release: Release) -> None:
    done(release.with_scores("--keep-instances"))
    shown = done(audit("cases", release.folder / "run", "--instance", 0)).stdout

    assert [line.rstrip() for line in shown.splitlines()] == [
        "Labels and predictions of 0",
        "hit    labelled and predicted",
        "miss   labelled, not predicted",
        "false  predicted, not labelled",
        "The node of the highest score is predicted, with all nodes above it.",
        "",
        "mark   label            score            node",
        "hit       1 ██████████     1 ██████████  object",
        "hit       1 ██████████     1 ██████████  ├─ animal",
        "hit       1 ██████████     1 ██████████  │  └─ mammal",
        "hit       1 ██████████  0.75 ███████▌    │     ├─ dog  (also below pet)",
        "                        0.25 ██▌         │     └─ cow",
        "hit       1 ██████████  0.75 ███████▌    └─ pet",
        "hit       1 ██████████  0.75 ███████▌       └─ dog  (also below mammal)",
    ]


def test_a_tree_leaves_out_what_is_below_the_least_share(release: Release) -> None:
    done(release.with_scores("--keep-instances"))
    drawn = ("cases", release.folder / "run", "--instance", 0, "--least", 0.3)
    shown = done(audit(*drawn)).stdout

    assert "cow" not in shown
    assert "1 more with less than 30% of the total each" in shown


def test_cases_draws_labels_alone_without_predictions(release: Release) -> None:
    done(release.audited("--keep-instances"))
    shown = done(audit("cases", release.folder / "run", "--instance", 2)).stdout

    bar = "█" * 20
    assert shown.splitlines() == [
        "Labels of 2",
        "label                   node",
        f"1 {bar}  object",
        f"1 {bar}  └─ tool",
    ]


def test_kept_instances_are_named_by_the_manifest(release: Release) -> None:
    done(release.with_scores("--keep-instances"))

    assert "restricted/instances.parquet" in listed(release.folder / "run")


def mistaken(result: Result) -> str:
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ")
    return result.stderr


def test_a_run_that_keeps_no_instances_draws_none(release: Release) -> None:
    done(release.with_scores())

    assert "--keep-instances" in mistaken(audit("cases", release.folder / "run", "--instance", 0))


def test_an_unknown_instance_is_refused(release: Release) -> None:
    done(release.with_scores("--keep-instances"))

    assert "'nobody'" in mistaken(audit("cases", release.folder / "run", "--instance", "nobody"))


def test_list_metrics_names_every_metric() -> None:
    printed = done(audit("list", "metrics")).stdout

    assert all(metric.name in printed and metric.title in printed for metric in METRICS)


# --- mistakes -------------------------------------------------------------------------------

Given = Callable[[Release], list[object]]


def scores(values: Any) -> Given:
    return lambda release: [
        "--predictions", release.array("bad.npy", values), "--classes", release.classes,
    ]  # fmt: skip


def lines(name: str, *text: str) -> Given:
    return lambda release: ["--predictions", release.write(name, list(text))]


MISTAKES: dict[str, tuple[Given, str]] = {
    "softmax alone": (lambda r: ["--softmax"], "--softmax can be given only"),
    "sigmoid alone": (lambda r: ["--sigmoid"], "--sigmoid can be given only"),
    "single label alone": (lambda r: ["--single-label"], "--single-label can be given only"),
    "device alone": (lambda r: ["--device", "cpu"], "--device can be given only"),
    "both transforms": (
        lambda r: [*scores(SOFTMAX)(r), "--softmax", "--sigmoid"], "Found: both",
    ),
    "no file": (lambda r: ["--predictions", r.folder / "none.npy"], "none.npy"),
    "no classes": (lambda r: ["--predictions", r.scores], "--classes"),
    "mostly unknown classes": (
        lambda r: [
            "--predictions", r.scores, "--classes",
            r.write("elf.txt", ["elf", "orc", "gnome", *CLASSES[3:]]),
        ],
        "'elf', 'orc', 'gnome' of 4 names",
    ),
    "logits without a transform": (scores(SOFTMAX * 9 - 4), "--softmax"),
    "other instances": (lines("x.csv", "instance,node,score", "x,dog,0.5"), "share instances"),
    "single label of sets": (
        lambda r: [*lines("x.psv", *SETS)(r), "--single-label"], "--single-label",
    ),
    "single label without scores": (
        lambda r: [*scores(np.vstack([SOFTMAX[:5], [[0, 0, 0, 0]]]))(r), "--single-label"],
        "above 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_in_one_message(release: Release, name: str) -> None:
    given, told = MISTAKES[name]
    message = refused(release.audited(*given(release)), release.folder)

    assert told in message


def test_the_policy_decides_whether_what_does_not_fit_is_refused_or_counted(
    release: Release,
) -> None:
    file = release.write("p.csv", ["instance,node,score", "0,dog,0.5", "x,dog,0.5"])
    for decided in ("refuse", "count"):
        policy = release.write(f"{decided}.toml", [f'unmatched_instances = "{decided}"'])
        result = release.audited("--predictions", file, "--policy", policy)
        if decided == "refuse":
            assert "without labels: 'x'" in refused(result, release.folder)
    done(result)

    assert release.shared()["ledger"]["predictions"]["predictions_without_labels"] == 1


def test_a_class_without_a_node_is_left_out_and_told(release: Release) -> None:
    file = release.write("p.csv", ["instance,node,score", "0,dog,0.5", "0,elf,0.5", "1,dog,1"])
    done(release.audited("--predictions", file))
    shared = release.shared()
    check = next(check for check in shared["checks"] if check["name"] == "unknown_code")
    told = next(found for found in check["findings"] if found["id"] == "unknown_code:classes")

    assert shared["ledger"]["predictions"]["unknown_classes"] == 1
    assert told["evidence"] == {"labels": 1, "classes": 2, "instances": 1, "predicted": 2}
    assert [node["id"] for node in told["nodes"]] == ["elf"]


POLICY = """
levels = "paper"
aggregation = "paths"
[[subgraphs]]
name = "mammals"
nodes = ["mammal"]
[[subgraphs]]
name = "birds and tools"
nodes = ["bird", "tool"]
[[queries]]
name = "confident"
[[queries]]
name = "torn"
leaves = 2
largest_leaf = [0.5, 0.75]
"""


def test_a_policy_asks_questions_of_a_model(release: Release) -> None:
    policy = release.write("policy.toml", [POLICY])
    done(release.with_scores("--policy", policy, "--min-cell", 1))
    shared = release.shared()
    whole = [metric for metric in shared["metrics"] if metric["scope"] == "all"]
    first = next(metric for metric in whole if metric["name"] == "subgraph_preference")
    assert first["parameters"] == {"subgraphs": [["mammals"], ["birds and tools"]]}
    assert (first["value"], first["n"]) == (0.5, 2)  # 0.125 < 0.875; 0.5 > 0.25
    levels = [m["parameters"]["level_to"] for m in whole if m["name"] == "accuracy"]
    assert levels == [1, 2]
    asked = {b["name"]: b["instances"] for b in shared["overview"]["behaviours"]}
    assert (asked["confident"], asked["torn"]) == (1, 3)


def test_every_kind_of_behaviour_opens_as_many_instances_as_it_counts(release: Release) -> None:
    policy = release.write(
        "policy.toml", ["min_cell = 1", "[[queries]]", 'name = "torn"', "leaves = 2"]
    )
    done(release.with_scores("--policy", policy, "--keep-instances"))
    run = release.folder / "run"
    counted = {b["name"]: b["instances"] for b in release.shared()["overview"]["behaviours"]}
    kept = read_run(run)
    window = Records(kept, kept.hierarchy)

    assert [*counted] == ["confident", "split", "contained", "spread", "torn"]
    assert counted["torn"]
    for name, instances in counted.items():
        ids = done(audit("cases", run, f"behaviour:{name}")).stdout.split()
        shown = window.ids.filter(pl.Series(window.chosen({"behaviour": name})))
        assert len(ids) == len(set(ids)) == instances, name
        assert shown.to_list() == ids
    assert "behaviour:torn" in audit("cases", run).stdout
    every = done(audit("cases", run, "--csv", release.folder / "cases.csv"))
    assert every.exit_code == 0
    told = audit("cases", run, "behaviour:sure")
    assert told.exit_code == 2
    assert "there are: behaviour:confident, " in " ".join(told.output.split())


def test_a_policy_asks_a_model_of_nodes_that_are_there(release: Release) -> None:
    policy = release.write("policy.toml", [POLICY.replace('"mammal"', '"unicorn"')])
    told = release.with_scores("--policy", policy)

    assert told.exit_code == 2
    assert "subgraphs: unicorn" in " ".join(told.output.split())


def test_a_run_with_questions_about_its_model_is_made_again_from_its_manifest(
    release: Release,
) -> None:
    done(release.with_scores("--policy", release.write("policy.toml", [POLICY])))
    told = audit("verify", release.folder / "run", "--recompute")
    assert told.exit_code == 0, told.output


# --- readings --------------------------------------------------------------------------------


def test_order_joins_what_has_no_ids_where_the_user_says_so(release: Release) -> None:
    rows = [f"{number},{label}" for number, label in enumerate(LABELS, start=1)]
    from_1 = release.write("from_1.csv", ["instance,label", *rows])
    message = refused(release.with_scores(labels=from_1), release.folder)
    assert "--by-order if both are in the same order" in message
    done(release.with_scores("--by-order", labels=from_1))
    assert release.shared()["ledger"]["predictions"]["instances_matched"] == 6


def test_what_scores_are_stands_among_the_readings_and_is_decided_otherwise(
    release: Release,
) -> None:
    thirds = np.round(np.full((6, 4), 1 / 3) * [1, 1, 1, 0], 3)
    release.scores = release.array("thirds.npy", thirds)
    done(release.with_scores())
    done(release.with_scores("--multi-label", out="several"))
    one, several = release.shared(), release.shared("several")
    assert [r["option"] for r in one["readings"]] == ["--id", "--multi-label"]
    assert [r["option"] for r in several["readings"]] == ["--id"]
    assert one["ledger"]["predictions"]["single_label"]
    assert not several["ledger"]["predictions"]["single_label"]


def test_names_of_classes_that_name_nothing_are_refused(release: Release) -> None:
    release.scores = release.write("answers.csv", ["id,prediction", "0,dog", "1,cow"])
    assert "leave out --classes" in refused(release.with_scores(), release.folder)
