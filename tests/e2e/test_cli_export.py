"""``audit export``: a run as the files of the published interface, and these files read again."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import entropy
from typer.testing import Result

import audit
from audit.runs.read import read_run
from fixtures.commands import audit as command
from fixtures.toy import EDGES

LABELS = {"r2": ["dog"], "r1": ["cow", "tool"], "r3": ["bird"], "r4": [], "r5": ["mammal"]}
SCORES = {
    "r1": {"cow": 0.5, "tool": 0.25},
    "r2": {"dog": 0.75, "cow": 0.1},
    "r3": {"bird": 0.3, "dog": 0.2},
    "r5": {"cow": 1 / 3},
}


class Run:
    """A run of five instances that keeps them, with a model's scores of four."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, folder / "published"
        self.hierarchy = self.write("toy.csv", ["child,parent", *map(",".join, EDGES)])
        lines = [json.dumps({"id": i, "labels": own}) for i, own in LABELS.items()]
        self.labels = self.write("labels.jsonl", lines)
        rows = [f"{i},{node},{score!r}" for i, own in SCORES.items() for node, score in own.items()]
        self.scores = self.write("scores.csv", ["instance,node,score", *rows])

    def write(self, name: str, lines: list[str]) -> Path:
        (self.folder / name).write_text("\n".join(lines) + "\n", "utf-8")
        return self.folder / name

    def made(self, *options: object, keep: bool = True) -> Path:
        more = ["--keep-instances"] if keep else []
        place = ("--hierarchy", self.hierarchy, "--no-pdf", "--out", self.folder / "run")
        done = command("run", self.labels, *place, *more, *options)
        assert done.exit_code == 0, done.output
        return self.folder / "run"

    def exported(self, *options: object) -> Result:
        return command("export", self.folder / "run", "--interface", self.out, *options)

    def file(self, name: str) -> Any:
        return json.loads((self.out / f"{name}.json").read_text("utf-8"))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_the_files_are_laid_out_as_the_interface_reads_them(run: Run) -> None:
    run.made("--predictions", run.scores)
    told = run.exported()
    assert told.exit_code == 0, told.output
    assert "4 instances" in told.output
    assert "1 instance without labels and scores" in " ".join(told.output.split())

    graph, ids = run.file("abstraction_graph"), run.file("instances")
    assert [record["id"] for record in graph] == list(range(len(graph)))
    assert [r["name"] for r in graph if r.get("parent") is None] == ["object"]
    names = {record["id"]: record["name"] for record in graph}
    edges = {(names[r["id"]], names[parent]) for r in graph for parent in r.get("parents", [])}
    assert edges == set(EDGES)
    assert dict(zip(ids, run.file("labels"), strict=True)) == {
        i: own for i, own in sorted(LABELS.items()) if own
    }
    scores = [{names[int(n)]: s for n, s in own.items()} for own in run.file("scores")]
    assert dict(zip(ids, scores, strict=True)) == SCORES


def at_or_below(node: str) -> set[str]:
    return {node}.union(*(at_or_below(child) for child, parent in EDGES if parent == node))


def test_confusion_is_equation_4_over_the_scores_that_were_written(run: Run) -> None:
    run.made("--predictions", run.scores)
    run.exported()

    names = {record["id"]: record["name"] for record in run.file("abstraction_graph")}
    for pair, value in run.file("coconfusion").items():
        a, b = (at_or_below(names[int(number)]) for number in pair.split(","))
        own = [[math.fsum(s for n, s in line.items() if n in side) for side in (a, b)]
               for line in SCORES.values()]  # fmt: skip
        bits = [entropy(two, base=2) for two in own if min(two) >= 1e-5]
        assert value == pytest.approx(math.fsum(bits) / len(SCORES))


def test_without_a_model_confusion_is_the_share_that_carries_both(run: Run) -> None:
    run.made()
    told = run.exported()
    assert "The run has no scores" in told.output
    assert not (run.out / "scores.json").exists()

    names = {record["id"]: record["name"] for record in run.file("abstraction_graph")}
    rates = {frozenset(names[int(n)] for n in pair.split(",")): rate
             for pair, rate in run.file("coconfusion").items()}  # fmt: skip
    assert rates[frozenset(("mammal", "tool"))] == 1 / 5
    assert rates[frozenset(("mammal", "pet"))] == 1 / 5  # the dog alone


def scores_of(predictions: audit.Predictions) -> Mapping[str, Mapping[str, float]]:
    dense = predictions.scores.toarray()
    return {
        instance: {predictions.hierarchy.nodes[i]: row[i] for i in np.flatnonzero(row)}
        for instance, row in zip(predictions.instances, dense, strict=True)
    }


def test_the_folder_is_read_as_predictions_labels_and_hierarchy(run: Run) -> None:
    run.made("--predictions", run.scores)
    run.exported()

    own = audit.load_hierarchy(run.hierarchy)
    for hierarchy in (own, audit.load_hierarchy(run.out / "abstraction_graph.json")):
        labels = audit.load_labels(run.out, hierarchy)
        assert scores_of(audit.load_predictions(run.out, labels)) == SCORES
        direct = {
            instance: [labels.hierarchy.nodes[i] for i in np.flatnonzero(row)]
            for instance, row in zip(
                labels.instances["instance"], labels.direct.toarray(), strict=True
            )
        }
        assert direct == {instance: found for instance, found in LABELS.items() if found}
    assert audit.load_hierarchy(run.out / "abstraction_graph.json").sha256 == own.sha256


def test_the_folder_is_audited_as_the_files_that_it_came_from(run: Run) -> None:
    run.made("--predictions", run.scores, "--min-cell", 1)
    run.exported()
    graph, back = run.out / "abstraction_graph.json", run.folder / "back"
    done = command("run", run.out, "--hierarchy", graph, "--predictions", run.out, "--no-pdf",
                   "--min-cell", 1, "--out", back)  # fmt: skip
    assert done.exit_code == 0, done.output

    first, again = (json.loads((run.folder / name / "result.json").read_text("utf-8"))
                    for name in ("run", "back"))  # fmt: skip
    plain = [{k: m[k] for k in ("name", "scope", "value", "parameters")} for m in first["metrics"]]
    read = [{k: m[k] for k in ("name", "scope", "value", "parameters")} for m in again["metrics"]]
    assert read == plain


def test_titles_are_shown_and_ids_come_back(run: Run) -> None:
    run.hierarchy.write_text(
        "child,parent,title\n" + "".join(f"{c},{p},The {c}\n" for c, p in EDGES)
    )
    run.made("--predictions", run.scores)
    run.exported()

    shown = {name for own in run.file("labels") for name in own}
    titled = any(record["title"] for record in run.file("abstraction_graph"))
    assert ("dog: The dog" in shown) is titled
    labels = audit.load_labels(run.out, audit.load_hierarchy(run.hierarchy))
    assert labels.ledger.rows_mapped == 5


def test_a_run_without_instances_and_an_occupied_folder_are_refused(run: Run) -> None:
    run.made(keep=False)
    assert "--keep-instances" in run.exported().output

    run.made("--overwrite")
    run.out.mkdir()
    (run.out / "mine.txt").write_text("mine")
    told = run.exported("--overwrite")
    assert (told.exit_code, "something else" in told.output) == (2, True)
    (run.out / "mine.txt").unlink()
    assert run.exported().exit_code == 0
    assert "add --overwrite" in run.exported().output
    assert run.exported("--overwrite").exit_code == 0


def test_a_layout_must_be_named(run: Run) -> None:
    run.made()
    told = command("export", run.folder / "run")

    assert told.exit_code == 2
    assert "--interface DIR or --restricted --parquet FILE" in told.output


def test_the_table_of_pairs_is_written_whole_for_who_knows_that_it_is_exact(run: Run) -> None:
    made, file = run.made(keep=False), run.folder / "pairs.parquet"
    for alone in (["--parquet", file], ["--restricted", "--csv", file]):
        refused = command("export", made, *alone)
        assert (refused.exit_code, file.exists()) == (2, False)
        assert "audit export RUN --restricted --parquet FILE" in refused.output
    told = command("export", made, "--restricted", "--parquet", file)
    pairs = read_run(made).pairs.collect()

    assert told.exit_code == 0, told.output
    assert f"{len(pairs)} pairs, exact counts, not for sharing" in " ".join(told.output.split())
    assert pl.read_parquet(file).equals(pairs)
    assert "not for sharing" in pl.read_parquet_metadata(file)["sharing"]
    assert "--overwrite" in command("export", made, "--restricted", "--parquet", file).output


def test_what_is_shared_is_written_as_tables(run: Run) -> None:
    pytest.importorskip("xlsxwriter")
    made = run.made(keep=False)
    tables, book = run.folder / "tables", run.folder / "tables.xlsx"
    places = ("--csv", tables, "--xlsx", book)
    done = command("export", made, *places)
    assert done.exit_code == 0, done.output

    shared = json.loads((made / "result.json").read_text("utf-8"))
    checks = pl.read_csv(tables / "checks.csv", infer_schema=False)
    assert checks["name"].to_list() == [check["name"] for check in shared["checks"]]
    assert {"summary", "metrics", "ledger"} & {file.stem for file in tables.iterdir()}
    assert book.stat().st_size > 0
    before = {file.name: file.read_bytes() for file in tables.iterdir()}

    assert command("export", made, *places).exit_code == 2
    assert command("export", made, *places, "--overwrite").exit_code == 0
    assert {file.name: file.read_bytes() for file in tables.iterdir()} == before
    (tables / "mine.txt").write_text("mine")
    told = command("export", made, "--csv", tables, "--overwrite")
    assert (told.exit_code, "name another" in told.output) == (2, True)
    assert (tables / "mine.txt").read_text() == "mine"


def test_a_shared_copy_gives_the_same_tables(run: Run) -> None:
    made = run.made()
    copy = run.folder / "copy"
    shutil.copytree(made, copy, ignore=shutil.ignore_patterns("restricted"))
    own, shared = run.folder / "own", run.folder / "shared"

    assert command("export", made, "--csv", own).exit_code == 0
    assert command("export", copy, "--csv", shared).exit_code == 0
    assert {one.name: one.read_bytes() for one in own.iterdir()} == {
        one.name: one.read_bytes() for one in shared.iterdir()
    }
    told = command("export", copy, "--interface", run.out)
    assert (told.exit_code, run.out.exists()) == (2, False)
    assert "`audit history` work with a shared copy" in " ".join(told.output.split())

    result = copy / "result.json"
    result.write_text(result.read_text("utf-8").replace('"instances": ', '"instances": 1'), "utf-8")
    told = command("export", copy, "--csv", run.folder / "changed")
    assert (told.exit_code, (run.folder / "changed").exists()) == (2, False)
    assert "changed: 'result.json'" in told.output
    told = command("export", copy, "--csv", run.folder / "changed", "--force")
    assert "Continued in spite of: changed: 'result.json'" in told.output
