"""*Abstraction Alignment* by its definitions: Algorithm 1, equations 1 to 4, figures, table 1."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import audit
from fixtures.brute_force_abstraction import Graph, Model, broader, confusion, counts
from fixtures.doors import command
from fixtures.paper_inputs import (
    CLASSES,
    THINGS,
    Edges,
    answers,
    diamonds,
    edges_file,
    questions,
    write_records,
    write_rows,
)
from fixtures.paper_runs import made, table

DATA = Path(os.environ.get("AUDIT_DATA", ""))
real = pytest.mark.skipif(not DATA.name, reason="AUDIT_DATA names no folder with the real releases")
ICD_9 = DATA / "icd9cm" / "ICD9_descriptions"
QUERIES = ("confident", "split", "contained", "spread")
PARTS = {"pets": ["cat", "dog"], "wheels": ["automobile", "truck"]}
RULES = ("descendants", "paths", "mimic")


def model_run(out: Path, files: str, *asked: str) -> Path:
    """A run of a model whose files begin so, by a policy that begins so."""
    named = (
        "\n".join(["[[subgraphs]]", f'name = "{name}"', f"nodes = {of}"])
        for name, of in PARTS.items()
    )
    policy = out.with_name("policy.toml")
    policy.write_text("\n".join([*asked, *named]), "utf-8")
    return made(
        out, "run", f"{files}_test_labels.npy", "--hierarchy", f"{files}_edges.csv",
        "--predictions", f"{files}_test_probabilities.npy", "--classes", f"{files}_classes.txt",
        "--by-order", "--single-label", "--policy", policy,
    )  # fmt: skip


def labels_run(out: Path, labels: Path, hierarchy: Path, rule: str) -> Path:
    policy = out.with_name("policy.toml")
    policy.write_text(f'aggregation = "{rule}"', "utf-8")
    return made(out, "run", labels, "--hierarchy", hierarchy, "--policy", policy)


def metrics(run: Path, name: str) -> list[tuple[str, dict[str, Any], float]]:
    """Scope, parameters and value of each line of a metric."""
    rows = table(run, "metrics", name=name)
    return [(row["scope"], json.loads(row["parameters"]), row["value"]) for row in rows]


def pairs(run: Path, column: str, *, of_model: bool = False) -> dict[frozenset[str], float]:
    read = audit.read_run(run)
    assert read.model is not None or not of_model
    frame = read.model.pairs if of_model and read.model else read.pairs
    rows = frame.select("a", "b", column).collect().iter_rows()
    return {frozenset((a, b)): value for a, b, value in rows}


def behaves(run: Path, query: str) -> list[str]:
    return command("cases", run, f"behaviour:{query}").output.split()


def aggregated(tree: audit.Hierarchy, own: dict[str, float], rule: str) -> dict[str, float]:
    dag = audit.WeightedDag(tree, own, rule)
    return dict(zip(tree.nodes, dag.aggregated.tolist(), strict=True))


def levels(tree: audit.Hierarchy) -> dict[str, int]:
    return dict(zip(tree.nodes, tree.level.tolist(), strict=True))


@dataclass(frozen=True)
class World:
    """A model's answers as a table of values, in files, and in a run."""

    model: Model
    files: str
    run: Path

    @property
    def about(self) -> dict[str, Any]:
        return {"hierarchy": f"{self.files}_edges.csv", "classes": self.model.classes}


def world(folder: Path, files: str, *asked: str) -> World:
    rows = list(csv.reader(Path(f"{files}_edges.csv").read_text().splitlines()))
    names = Path(f"{files}_classes.txt").read_text().split()
    scores, true = (np.load(f"{files}_test_{of}.npy") for of in ("probabilities", "labels"))
    model = Model(Graph([(a, b) for a, b in rows[1:]]), names, scores.astype(float),
                  [names[k] for k in true])  # fmt: skip
    return World(model, files, model_run(folder / "run", files, *asked))


def made_up(folder: Path, *asked: str) -> World:
    files = str(folder / "made")
    for name, of in zip(("probabilities", "labels"), answers(), strict=True):
        np.save(f"{files}_test_{name}.npy", of)
    Path(f"{files}_classes.txt").write_text("\n".join(CLASSES))
    edges_file(Path(f"{files}_edges.csv"), THINGS)
    return world(folder, files, *asked)


def images(folder: Path) -> World:
    """Ten thousand images of CIFAR-10, as a small network sees them."""
    return world(folder, str(DATA / "softmax" / "cifar10"))


@pytest.fixture(
    scope="module", params=[made_up, pytest.param(images, marks=[real, pytest.mark.slow])]
)
def one(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    result: World = request.param(tmp_path_factory.mktemp("world"))
    return result


ALIGNMENTS = ("accuracy_alignment", "uncertainty_alignment", "abstraction_match")


def test_functions_are_equations_1_to_4(one: World) -> None:
    model, graph, call = one.model, one.model.graph, audit.metrics
    depths = range(1, 1 + max(map(graph.depth, model.classes)))
    for fine, coarse in combinations(reversed(depths), 2):
        cuts, at = (graph.at_depth(fine), graph.at_depth(coarse)), {"fine": fine, "coarse": coarse}
        found = [
            call.accuracy_alignment(model.true, model.scores, **at, **one.about),
            call.uncertainty_alignment(model.scores, **at, **one.about),
            call.abstraction_match(model.scores, **at, **one.about),
        ]
        assert found == pytest.approx(
            [getattr(model, name)(*cuts) for name in ALIGNMENTS], abs=1e-9
        )
    for depth in depths:
        found = call.accuracy(model.true, model.scores, depth=depth, **one.about)
        assert found == pytest.approx(model.accuracy(graph.at_depth(depth)))
    for sides in permutations(PARTS.values()):
        found = call.subgraph_preference(model.scores, *sides, **one.about)
        assert found == pytest.approx(model.preference(*sides))
    frame = call.concept_confusion(model.scores, **one.about).select("a", "b", "confusion")
    expected = model.confusion()
    assert {frozenset(ab): c for *ab, c in frame.iter_rows()} == pytest.approx(expected, abs=1e-9)
    assert pairs(one.run, "confusion", of_model=True) == pytest.approx(expected, abs=1e-9)


def hold_in_every_branch(one: World, way: str) -> set[str]:
    """Hold the metrics of a run against the equations; the branches that have them."""
    graph, seen = one.model.graph, set()
    for name in (*ALIGNMENTS, "accuracy", "preference"):
        for scope, how, value in metrics(one.run, name.replace("pref", "subgraph_pref")):
            model = one.model if scope == "all" else one.model.within(scope)
            steps = [how[f"{way}_{end}"] for end in ("from", "to") if f"{way}_{end}" in how]
            given = [graph.cut(way, step) for step in steps]
            given = given or [PARTS[part] for (part,) in how["subgraphs"]]
            found = getattr(model, name)(*given)
            assert value == pytest.approx(found, abs=1e-9), (name, scope, how)
            seen.add(scope)
    return seen


def test_figure_1_has_the_alignment_of_every_branch(one: World) -> None:
    graph = one.model.graph
    inner = {node for node, over in graph.parents.items() if over and graph.children[node]}
    large = {node for node in inner if len(one.model.within(node).true) >= 30}
    assert hold_in_every_branch(one, "depth") == {"all"} | large


def test_levels_can_be_those_of_the_paper(tmp_path: Path) -> None:
    assert "all" in hold_in_every_branch(made_up(tmp_path, 'levels = "paper"'), "level")


def test_equal_values_are_no_preference() -> None:
    tree = dict.fromkeys("xyz", "top")
    scores = [[0.4, 0.4, 0.2], [0.5, 0.3, 0.2]]
    found = audit.metrics.subgraph_preference(
        scores, ["x"], ["y"], hierarchy=tree, classes=list("xyz")
    )
    assert found == 0.5


@pytest.mark.parametrize("query", QUERIES)
def test_figure_2_queries_for_these_instances(one: World, query: str) -> None:
    expected = [str(k) for k in one.model.behaves(query)]
    (row,) = table(one.run, "behaviours", name=query)
    assert row["instances"] == len(expected)
    if expected:
        assert sorted(behaves(one.run, query)) == sorted(expected)
    assert expected or query == "spread", "two branches are no more than three"


def test_algorithm_1_carries_scores_to_the_root(one: World) -> None:
    tree = audit.load_hierarchy(one.about["hierarchy"])
    value = one.model.value(tree.nodes)
    for k in range(0, len(value), len(value) // 20):
        own = dict(zip(one.model.classes, one.model.scores[k].tolist(), strict=True))
        expected = dict(zip(tree.nodes, value[k].tolist(), strict=True))
        assert aggregated(tree, own, "descendants") == pytest.approx(expected)


@pytest.mark.parametrize("edges", [THINGS, diamonds()[0]], ids=["tree", "diamonds"])
def test_a_level_is_the_shortest_path_from_a_leaf(edges: Edges, tmp_path: Path) -> None:
    graph, tree = Graph(edges), audit.load_hierarchy(edges_file(tmp_path / "edges.csv", edges))
    assert levels(tree) == {node: graph.level(node) for node in graph.parents}


@pytest.mark.parametrize("rule", RULES)
def test_ways_that_meet_again_count_by_the_rule_that_is_chosen(rule: str, tmp_path: Path) -> None:
    edges, labels = diamonds()
    graph, path = Graph(edges), edges_file(tmp_path / "edges.csv", edges)
    tree = audit.load_hierarchy(path)
    value = {i: counts(graph, own, rule) for i, own in labels.items()}
    for i, own in labels.items():
        found = aggregated(tree, dict.fromkeys(own, 1.0), rule)
        assert found == {node: value[i][node] for node in tree.nodes}
    rows = [("id", "label"), *((i, label) for i, own in labels.items() for label in own)]
    run = labels_run(tmp_path / "run", write_rows(tmp_path / "labels.csv", rows), path, rule)
    assert pairs(run, "confusion") == pytest.approx(confusion(value.values()), abs=1e-9)


def dotted(code: str, after: int) -> str:
    return f"{code[:after]}.{code[after:]}" if len(code) > after else code


@pytest.fixture(scope="module")
def codes() -> list[str]:
    """Codes of ICD-9-CM and ranges of them; the root is @."""
    with ICD_9.open(encoding="utf-8") as file:
        return [line.split("\t")[0] for line in file]


@real
@pytest.mark.slow
def test_icd_9_is_the_graph_of_the_medical_study(codes: list[str]) -> None:
    tree = audit.load_hierarchy(ICD_9)
    edges = broader(codes)
    assert sorted(tree.edge_frame().select("child", "parent").iter_rows()) == sorted(edges)
    assert len(tree.nodes) == len(codes) == 21_164, "the paper has two more, in its appendix"
    assert tree.depth.max() == 7
    assert tree.leaf.sum() == len({code for code, _ in edges} - {over for _, over in edges})


@real
@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_all_pairs_of_a_medical_release_are_counted(
    rule: str, codes: list[str], tmp_path: Path
) -> None:
    labels: dict[str, set[str]] = defaultdict(set)
    (tmp_path / "notes").mkdir()
    for name, after in (("DIAGNOSES_ICD.csv", 3), ("PROCEDURES_ICD.csv", 2)):
        text = (DATA / "mimic-iii-demo" / name).read_text("utf-8")
        (tmp_path / "notes" / name).write_text(text, "utf-8")
        for row in csv.DictReader(text.splitlines()):
            code = row["ICD9_CODE"]
            labels[row["HADM_ID"]].add(dotted(code, after + code.startswith("E")))
    graph = Graph(broader(codes))
    value = [counts(graph, own & graph.parents.keys(), rule) for own in labels.values()]
    run = labels_run(tmp_path / "run", tmp_path / "notes", ICD_9, rule)
    assert pairs(run, "confusion") == pytest.approx(confusion(value), abs=1e-9)
    if rule == "descendants":
        joint = Counter(frozenset(pair) for seen in value for pair in combinations(seen, 2))
        rates = {pair: n / len(value) for pair, n in joint.items()}
        assert pairs(run, "joint") == joint
        assert pairs(run, "rate") == pytest.approx(rates), "figure 3"


def test_table_1_counts_what_a_language_model_prefers(tmp_path: Path) -> None:
    edges, asked, scores = questions()
    graph = Graph(edges)
    records = [{"question": k, "scores": row} for k, row in enumerate(scores)]
    run = made(
        tmp_path / "run", "preference", write_records(tmp_path / "scores.jsonl", records),
        "--hierarchy", edges_file(tmp_path / "words.csv", edges),
        "--questions", write_records(tmp_path / "questions.jsonl", asked),
    )  # fmt: skip
    related = [graph.above(one["obj_label"]) | graph.below(one["obj_label"]) for one in asked]
    task = set().union(*related)
    expected: dict[str, Counter[str]] = defaultdict(Counter)
    for one, row, near in zip(asked, scores, related, strict=True):
        specific, general = one["obj_label"], one["obj2_label"]
        below = graph.below(specific)
        tenth = sorted((v for word, v in row.items() if word != specific), reverse=True)[9]
        sides = {
            "Acc@10": (row[specific], tenth),
            "P(s, g)": (row[specific], row[general]),
            "P(s-down, s-up)": [max(row[w] for w in part) for part in (below, near - below)],
            "P(s-updown, t)": [max(row[w] for w in part) for part in (near, task - near)],
        }
        for name, (first, second) in sides.items():
            expected[name]["won" if first > second else "tied" if first == second else "lost"] += 1
    assert min(counted[kind] for counted in expected.values() for kind in ("won", "tied")) > 0
    found = table(run, "preference_measured")
    kinds = ("won", "tied", "lost")
    assert {row["metric"]: {kind: row[kind] for kind in kinds} for row in found} == expected
    assert {row["n"] for row in found} == {len(asked)}
    for row in found:
        assert row["value"] == row["won"] / row["n"]
