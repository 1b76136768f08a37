"""*Abstraction Alignment* against its definitions: Algorithm 1, equations 1 to 4, figures, table 1.

Values are arrays of instances by nodes, made here from edges and scores alone.
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations
from pathlib import Path

import numpy as np
import pytest

import audit
from fixtures.doors import command, made, table
from fixtures.paper_inputs import (
    CLASSES,
    THINGS,
    Edges,
    Floats,
    answers,
    diamonds,
    edges_file,
    questions,
    write_records,
    write_rows,
)

DATA = Path(os.environ.get("AUDIT_DATA", ""))
real = pytest.mark.skipif(not DATA.name, reason="AUDIT_DATA names no folder with the real releases")
LEAST = 1e-5
"""Score from which a node takes part in a pair, in the released code for images."""


def metrics(run: Path, name: str) -> list[tuple[str, dict[str, int], float]]:
    """Scope, parameters and value of each line of a metric."""
    return [
        (row["scope"], json.loads(row["parameters"]), row["value"])
        for row in table(run, "metrics", name=name)
    ]


def pairs(run: Path, column: str, *, of_model: bool = False) -> dict[frozenset[str], float]:
    read = audit.read_run(run)
    assert read.model is not None or not of_model
    frame = read.model.pairs if of_model and read.model else read.pairs
    rows = frame.select("a", "b", column).collect().iter_rows()
    return {frozenset((a, b)): value for a, b, value in rows}


def behaves(run: Path, query: str) -> list[str]:
    return command("cases", run, f"behaviour:{query}").output.split()


def aggregated(tree: audit.Hierarchy, own: dict[str, float], rule: str) -> dict[str, float]:
    dag = audit.WeightedDag(tree, own, rule)  # type: ignore[arg-type]
    return dict(zip(tree.nodes, dag.aggregated.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Graph:
    """What the edges of a hierarchy say."""

    edges: Sequence[tuple[str, str]]

    @cached_property
    def parents(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {node: set() for edge in self.edges for node in edge}
        for child, parent in self.edges:
            found[child].add(parent)
        return found

    @cached_property
    def children(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {node: set() for node in self.parents}
        for child, parent in self.edges:
            found[parent].add(child)
        return found

    def above(self, node: str) -> set[str]:
        """The node and its ancestors."""
        return {node}.union(*(self.above(parent) for parent in self.parents[node]))

    def below(self, node: str) -> set[str]:
        """The node and its descendants."""
        return {node}.union(*(self.below(child) for child in self.children[node]))

    def depth(self, node: str) -> int:
        return max((self.depth(parent) + 1 for parent in self.parents[node]), default=0)

    def level(self, node: str) -> int:
        """One more than the steps of the shortest path from a leaf (section 3.1)."""
        return 1 + min((self.level(child) for child in self.children[node]), default=0)

    def at_depth(self, depth: int) -> list[str]:
        """Nodes of a depth, and leaves that end above it: what holds all mass of a tree."""
        at = {node: self.depth(node) for node in sorted(self.parents)}
        return [
            n for n, own in at.items() if own == depth or (own < depth and not self.children[n])
        ]

    def at_level(self, level: int) -> list[str]:
        """Nodes of a level, without the root and without those that lie below another of it."""
        at = {n for n, over in self.parents.items() if over and self.level(n) == level}
        return sorted(n for n in at if self.above(n) & at == {n})


@dataclass(frozen=True, eq=False)
class Model:
    """Scores of a model on the leaves of a tree, and what is true."""

    graph: Graph
    classes: list[str]
    scores: Floats
    true: list[str]

    def value(self, nodes: Iterable[str]) -> Floats:
        """Aggregated values of nodes, an instance a row."""
        below = [[self.classes.index(leaf) for leaf in self.classes if leaf in self.graph.below(n)]
                 for n in nodes]  # fmt: skip
        return np.stack([self.scores[:, leaves].sum(1) for leaves in below], 1)

    def right(self, cut: list[str]) -> tuple[Floats, Floats]:
        """Whether the highest node of a cut is the true one, and whether one is true at all."""
        best = self.value(cut).argmax(1)
        above = [self.graph.above(label) for label in self.true]
        hit = np.array([cut[k] in over for k, over in zip(best, above, strict=True)], float)
        return hit, np.array([bool(over.intersection(cut)) for over in above], float)

    def accuracy(self, cut: list[str]) -> float | None:
        hit, has = self.right(cut)
        return float(hit.sum() / has.sum()) if has.any() else None

    def accuracy_alignment(self, fine: list[str], coarse: list[str]) -> float | None:
        """Equation 1; undefined where there are no errors."""
        (low, in_low), (high, in_high) = self.right(fine), self.right(coarse)
        both = in_low * in_high
        errors = ((1 - low) * both).sum()
        return float(((high - low) * both).sum() / errors) if errors else None

    def uncertainty(self, cut: list[str]) -> float:
        """Mean entropy of what the nodes of a cut have, and what is left beside them."""
        value = self.value(cut) / self.scores.sum(1, keepdims=True)
        value = np.column_stack([value, np.clip(1 - value.sum(1), 0, None).round(12)])
        log = np.log2(value, out=np.zeros_like(value), where=value > 0)
        return float(-(value * log).sum(1).mean())

    def uncertainty_alignment(self, fine: list[str], coarse: list[str]) -> float:
        """Equation 2 as printed."""
        return self.uncertainty(coarse) - self.uncertainty(fine)

    def abstraction_match(self, fine: list[str], coarse: list[str]) -> float:
        """What the released code has in its place: the share of uncertainty that vanishes."""
        return 1 - self.uncertainty(coarse) / self.uncertainty(fine)

    def preference(self, first: list[str], second: list[str]) -> float:
        """Equation 3."""
        return float((self.value(first).max(1) > self.value(second).max(1)).mean())

    def behaves(self, query: str) -> list[int]:
        """Figure 2: instances by how many leaves and branches count, from a hundredth on."""
        (root,) = (node for node, parents in self.graph.parents.items() if not parents)
        branch = self.value(sorted(self.graph.children[root]))
        leaves, branches = (self.scores >= 0.01).sum(1), (branch >= 0.01).sum(1)
        even = [(part.max(1) >= 0.45) & (part.max(1) <= 0.55) for part in (self.scores, branch)]
        found = {
            "confident": leaves == 1,
            "split": (leaves == 2) & (branches == 2) & even[0] & even[1],
            "contained": (leaves > 1) & (branches == 1),
            "spread": branches > 3,
        }[query]
        return np.flatnonzero(found).tolist()

    def within(self, node: str) -> Model:
        """The same of the instances with a label at or below a node."""
        kept = [k for k, label in enumerate(self.true) if node in self.graph.above(label)]
        return Model(self.graph, self.classes, self.scores[kept], [self.true[k] for k in kept])


def entropy_of_pair(first: Floats, second: Floats, least: float) -> float:
    """Equation 4: mean entropy of two values, over that of two halves."""
    taken = (first >= least) & (second >= least)
    share = first[taken] / (first[taken] + second[taken])
    return float(-(share * np.log2(share) + (1 - share) * np.log2(1 - share)).sum() / len(first))


@dataclass(frozen=True)
class World:
    """A model's answers in memory, as files, and as a run."""

    model: Model
    edges: Path
    run: Path
    subgraphs: dict[str, list[str]]
    depths: Sequence[int]


def world(folder: Path, edges: Path, classes: Path, files: list[Path],
          subgraphs: dict[str, list[str]]) -> World:  # fmt: skip
    with edges.open() as file:
        graph = Graph([(child, parent) for child, parent in list(csv.reader(file))[1:]])
    names = classes.read_text().split()
    scores, true = np.load(files[0]).astype(float), np.load(files[1])
    model = Model(graph, names, scores, [names[k] for k in true])
    parts = [
        w for name, part in subgraphs.items() for w in ("--subgraph", f"{name}={','.join(part)}")
    ]
    run = made(
        folder / "run", "run", files[1], "--hierarchy", edges, "--predictions", files[0],
        "--classes", classes, "--by-order", "--single-label", "--keep-instances", *parts,
        *(w for query in QUERIES for w in ("--query", query)),
    )  # fmt: skip
    return World(model, edges, run, subgraphs, range(1, 1 + max(map(graph.depth, names))))


QUERIES = ("confident", "split", "contained", "spread")


def made_up(folder: Path) -> World:
    scores, true = answers()
    files = [folder / "scores.npy", folder / "true.npy"]
    np.save(files[0], scores)
    np.save(files[1], true)
    (folder / "classes.txt").write_text("\n".join(CLASSES))
    edges = edges_file(folder / "edges.csv", THINGS)
    parts = {"pets": ["cat", "dog"], "metals": ["iron", "gold"]}
    return world(folder, edges, folder / "classes.txt", files, parts)


def images(folder: Path) -> World:
    """Ten thousand images of CIFAR-10, as a small network sees them."""
    source = DATA / "softmax"
    files = [source / f"cifar10_test_{part}.npy" for part in ("probabilities", "labels")]
    parts = {"pets": ["cat", "dog"], "wheels": ["automobile", "truck"]}
    edges, classes = source / "cifar10_edges.csv", source / "cifar10_classes.txt"
    return world(folder, edges, classes, files, parts)


@pytest.fixture(
    scope="module", params=[made_up, pytest.param(images, marks=[real, pytest.mark.slow])]
)
def one(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    make: Callable[[Path], World] = request.param
    return make(tmp_path_factory.mktemp(make.__name__))


ALIGNMENTS = ("accuracy_alignment", "uncertainty_alignment", "abstraction_match")


def test_functions_are_equations_1_to_3(one: World) -> None:
    model, about = one.model, {"hierarchy": one.edges, "classes": one.model.classes}
    for fine, coarse in combinations(reversed(one.depths), 2):
        for name in ALIGNMENTS:
            given = (model.true, model.scores) if name == "accuracy_alignment" else (model.scores,)
            found = getattr(audit.metrics, name)(*given, fine=fine, coarse=coarse, **about)
            cuts = model.graph.at_depth(fine), model.graph.at_depth(coarse)
            assert found == pytest.approx(getattr(model, name)(*cuts), abs=1e-9), (name, cuts)
    for depth in one.depths:
        found = audit.metrics.accuracy(model.true, model.scores, depth=depth, **about)
        assert found == pytest.approx(model.accuracy(model.graph.at_depth(depth)))
    for first, second in permutations(one.subgraphs.values()):
        found = audit.metrics.subgraph_preference(model.scores, first, second, **about)
        assert found == pytest.approx(model.preference(first, second))


def test_figure_1_has_both_alignments_of_every_branch(one: World) -> None:
    graph, seen = one.model.graph, Counter[str]()
    for name in (*ALIGNMENTS, "accuracy"):
        for scope, how, value in metrics(one.run, name):
            model = one.model if scope == "all" else one.model.within(scope)
            cuts = [graph.at_depth(how[key]) for key in ("depth_from", "depth_to") if key in how]
            assert value == pytest.approx(getattr(model, name)(*cuts), abs=1e-9), (name, scope, how)
            seen[scope] += 1
    inner = {node for node, over in graph.parents.items() if over and graph.children[node]}
    assert seen.keys() == {"all"} | {
        node for node in inner if len(one.model.within(node).true) >= 30
    }


def test_a_run_compares_subgraphs_in_every_branch(one: World) -> None:
    rows = metrics(one.run, "subgraph_preference")
    for scope, how, value in rows:
        model = one.model if scope == "all" else one.model.within(scope)
        first, second = (one.subgraphs[name] for (name,) in how["subgraphs"])  # type: ignore[attr-defined]
        assert value == pytest.approx(model.preference(first, second))
    assert len(rows) >= 6


def test_equal_values_are_no_preference() -> None:
    tree = dict.fromkeys("xyz", "top")
    scores = [[0.4, 0.4, 0.2], [0.5, 0.3, 0.2]]
    found = audit.metrics.subgraph_preference(
        scores, ["x"], ["y"], hierarchy=tree, classes=list("xyz")
    )
    assert found == 0.5


def test_concept_confusion_is_equation_4_for_all_pairs(one: World) -> None:
    nodes = sorted(one.model.graph.parents)
    value = dict(zip(nodes, one.model.value(nodes).T, strict=True))
    expected = {
        frozenset(pair): entropy_of_pair(*(value[node] for node in pair), LEAST)
        for pair in combinations(nodes, 2)
    }
    frame = audit.metrics.concept_confusion(
        one.model.scores, hierarchy=one.edges, classes=one.model.classes
    )
    rows = frame.select("a", "b", "confusion").iter_rows()
    assert {frozenset((a, b)): c for a, b, c in rows} == pytest.approx(expected, abs=1e-9)
    assert pairs(one.run, "confusion", of_model=True) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("query", QUERIES)
def test_the_behaviours_of_figure_2_are_those_of_these_instances(one: World, query: str) -> None:
    expected = [str(k) for k in one.model.behaves(query)]
    (row,) = table(one.run, "behaviours", name=query)
    assert row["instances"] == len(expected)
    if expected:
        assert sorted(behaves(one.run, query)) == sorted(expected)
    assert expected or one.edges.name != "edges.csv"


def test_algorithm_1_carries_scores_to_the_root(one: World) -> None:
    tree = audit.load_hierarchy(one.edges)
    nodes = sorted(one.model.graph.parents)
    value = one.model.value(nodes)
    for k in range(0, len(value), len(value) // 20):
        own = dict(zip(one.model.classes, one.model.scores[k].tolist(), strict=True))
        expected = dict(zip(nodes, value[k].tolist(), strict=True))
        assert aggregated(tree, own, "descendants") == pytest.approx(expected)


@pytest.mark.parametrize("edges", [THINGS, diamonds()[0]], ids=["tree", "diamonds"])
def test_a_level_is_the_shortest_path_from_a_leaf(edges: Edges, tmp_path: Path) -> None:
    graph, tree = Graph(edges), audit.load_hierarchy(edges_file(tmp_path / "edges.csv", edges))
    found = dict(zip(tree.nodes, tree.level.tolist(), strict=True))
    assert found == {node: graph.level(node) for node in graph.parents}


def test_levels_can_be_those_of_the_paper(tmp_path: Path) -> None:
    scores, true = answers()
    model = Model(Graph(THINGS), CLASSES, scores, [CLASSES[k] for k in true])
    labels = [("id", "label"), *((f"i{k}", label) for k, label in enumerate(model.true))]
    lines = [("id", *CLASSES), *((f"i{k}", *row) for k, row in enumerate(scores.tolist()))]
    run = made(
        tmp_path / "run", "run", write_rows(tmp_path / "labels.csv", labels),
        "--hierarchy", edges_file(tmp_path / "edges.csv", THINGS),
        "--predictions", write_rows(tmp_path / "scores.csv", lines), "--levels", "paper",
    )  # fmt: skip
    seen = 0
    for name in (*ALIGNMENTS, "accuracy"):
        for scope, how, value in metrics(run, name):
            part = model if scope == "all" else model.within(scope)
            levels = [how[key] for key in ("level_from", "level_to") if key in how]
            cuts = [model.graph.at_level(level) for level in levels]
            assert value == pytest.approx(getattr(part, name)(*cuts), abs=1e-9), (name, scope, how)
            seen += scope == "all"
    assert seen == 3 + 3 * 3


def counts(graph: Graph, labels: Iterable[str], rule: str) -> Counter[str]:
    """Aggregated values of the nodes at or above the labels of an instance.

    By descendants each label counts once, by paths (Algorithm 1 as printed) once for each way up,
    and by the code released for MIMIC a node that is a label itself has its own value alone.
    """
    own, value = set(labels), Counter[str]()
    nodes = set().union(*(graph.above(label) for label in own))
    for node in sorted(nodes, key=graph.depth, reverse=True):
        children = sum(value[child] for child in graph.children[node])
        value[node] = {
            "descendants": len(graph.below(node) & own) if rule == "descendants" else 0,
            "paths": (node in own) + children,
            "mimic": 1 if node in own else children,
        }[rule]
    return value


def confusion(instances: Iterable[Counter[str]]) -> dict[frozenset[str], float]:
    """Equation 4 of counted labels."""
    instances = list(instances)
    shares: dict[frozenset[str], float] = defaultdict(float)
    entropy: dict[float, float] = {}
    for value in instances:
        for a, b in combinations(value, 2):
            part = value[a] / (value[a] + value[b])
            if part not in entropy:
                entropy[part] = -part * np.log2(part) - (1 - part) * np.log2(1 - part)
            shares[frozenset((a, b))] += entropy[part] / len(instances)
    return shares


RULES = ("descendants", "paths", "mimic")


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
    run = made(
        tmp_path / "run", "run", write_rows(tmp_path / "labels.csv", rows), "--hierarchy", path,
        "--aggregation", rule,
    )  # fmt: skip
    (root,) = (node for node, parents in graph.parents.items() if not parents)
    expected = {pair: c for pair, c in confusion(value.values()).items() if root not in pair}
    found = pairs(run, "confusion")
    assert {pair: found[pair] for pair in expected} == pytest.approx(expected, abs=1e-9)


def dotted(code: str, after: int) -> str:
    return f"{code[:after]}.{code[after:]}" if len(code) > after else code


@pytest.fixture(scope="module")
def codes() -> list[str]:
    """Codes of ICD-9-CM and ranges of them; the root is @."""
    with (DATA / "icd9cm" / "ICD9_descriptions").open(encoding="utf-8") as file:
        return [line.split("\t")[0] for line in file]


def span(code: str) -> tuple[str, float, float]:
    """The kind of a range of codes, and its ends."""
    low, high = code.split("-")
    kind = low[0] if low[0].isalpha() else str(len(low.split(".")[0]))
    return kind, float(low.strip("EV")), float(high.strip("EV"))


def broader(codes: Iterable[str]) -> Edges:
    """The parent of a code is the code less a digit; of whole numbers, the narrowest range."""
    known = set(codes)
    ranges = {code: span(code) for code in known if "-" in code}
    found = []
    for code in known - {"@"}:
        parent = code[:-1].rstrip(".") if "." in code and "-" not in code else ""
        if not parent:
            kind, low, high = ranges.get(code) or span(f"{code}-{code}")
            over = [
                (end - start, other)
                for other, (of, start, end) in ranges.items()
                if of == kind and start <= low and high <= end and other != code
            ]
            parent = min(over, default=(0, "@"))[1]
        found.append((code, parent))
    return found


@real
@pytest.mark.slow
def test_icd_9_is_the_graph_of_the_medical_study(codes: list[str]) -> None:
    tree = audit.load_hierarchy(DATA / "icd9cm" / "ICD9_descriptions")
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
    known = {i: own & graph.parents.keys() for i, own in labels.items()}
    value = [counts(graph, own, rule) for own in known.values()]
    run = made(
        tmp_path / "run", "run", tmp_path / "notes",
        "--hierarchy", DATA / "icd9cm" / "ICD9_descriptions", "--aggregation", rule,
    )  # fmt: skip
    joint = Counter(
        frozenset(pair) for seen in value for pair in combinations(set(seen) - {"@"}, 2)
    )
    expected = {pair: c for pair, c in confusion(value).items() if pair in joint}
    found = pairs(run, "confusion")
    assert {pair: found[pair] for pair in expected} == pytest.approx(expected, abs=1e-9)
    if rule == "descendants":
        rates = pairs(run, "rate")
        assert {
            pair: found for pair, found in pairs(run, "joint").items() if "@" not in pair
        } == joint
        for pair, n in joint.items():
            assert rates[pair] == pytest.approx(n / len(value)), "figure 3"


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
